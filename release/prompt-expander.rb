# The formula of a Homebrew tap. `python3 release/pack.py formula DIST` fills in the version and the checksums.
class PromptExpander < Formula
  desc "Prompts as Markdown files, for all your coding agents: an MCP server and CLI"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/prompt-expander-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256 darwin-arm64@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/prompt-expander-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256 darwin-x64@"
    end
  end
  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/prompt-expander-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 linux-arm64@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/prompt-expander-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256 linux-x64@"
    end
  end

  def install
    bin.install "prompt-expander"
    man1.install "prompt-expander.1"
    bash_completion.install "completions/prompt-expander.bash" => "prompt-expander"
    zsh_completion.install "completions/_prompt-expander"
    fish_completion.install "completions/prompt-expander.fish"
    (share/"prompt-expander/installed-by").write "Homebrew\n"
  end

  test do
    assert_match "graphene", shell_output("#{bin}/prompt-expander expand research graphene")
  end
end
