# Installs prompt-expander for the current user of Windows: downloads the archive, compares its checksum, and moves the program into place.
# It needs no administrator and changes no profile; it says how to add the folder to PATH. The same command updates the program.
#
#   irm https://github.com/OWNER/prompt-expander/releases/latest/download/install.ps1 | iex
#
# PROMPT_EXPANDER_URL   another folder with SHA256SUMS and the archives: a mirror, or another version, as in …/releases/download/v0.2.0
# PROMPT_EXPANDER_BIN   another folder for the program
function Install-PromptExpander {
    $ErrorActionPreference = 'Stop'
    $ProgressPreference = 'SilentlyContinue'
    [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

    $url = $env:PROMPT_EXPANDER_URL
    if (-not $url) { $url = 'https://github.com/OWNER/prompt-expander/releases/latest/download' }
    $bin = $env:PROMPT_EXPANDER_BIN
    if (-not $bin) {
        if (-not $env:LOCALAPPDATA) { throw 'LOCALAPPDATA is not set; set it, or name a folder for the program in PROMPT_EXPANDER_BIN' }
        $bin = Join-Path $env:LOCALAPPDATA 'prompt-expander\bin'
    }

    # A 32-bit or emulated PowerShell has the system's own architecture in the second variable or in the registry.
    $key = 'HKLM:\SYSTEM\CurrentControlSet\Control\Session Manager\Environment'
    switch ((Get-ItemProperty $key).PROCESSOR_ARCHITECTURE) {
        'AMD64' { $target = 'x86_64-pc-windows-msvc' }
        'ARM64' { $target = 'aarch64-pc-windows-msvc' }
        default { throw "there is no program for this system: $_; there are programs for x64 and arm64" }
    }

    New-Item -ItemType Directory -Force -Path $bin | Out-Null
    $new = Join-Path $bin ('.prompt-expander.' + [guid]::NewGuid())
    New-Item -ItemType Directory -Path $new | Out-Null
    try {
        Invoke-WebRequest -UseBasicParsing "$url/SHA256SUMS" -OutFile "$new\SHA256SUMS"
        $pattern = "^([0-9a-f]{64})  (prompt-expander-[^ /\\]*-$target\.zip)$"
        $line = Get-Content "$new\SHA256SUMS" | Where-Object { $_ -match $pattern } | Select-Object -First 1
        if (-not ($line -match $pattern)) { throw "$url/SHA256SUMS names no archive for $target; is PROMPT_EXPANDER_URL right?" }
        $expected, $archive = $Matches[1], $Matches[2]
        Invoke-WebRequest -UseBasicParsing "$url/$archive" -OutFile "$new\$archive"
        $found = (Get-FileHash -Algorithm SHA256 "$new\$archive").Hash.ToLowerInvariant()
        if ($found -ne $expected) {
            throw "the checksum of $url/$archive is wrong: $found instead of $expected; nothing was installed, try again"
        }
        Expand-Archive "$new\$archive" -DestinationPath $new
        $program = Join-Path $new ($archive.Substring(0, $archive.Length - 4) + '\prompt-expander.exe')
        $version = & $program --version
        if ($LASTEXITCODE -ne 0) { throw 'the program does not run here; nothing was installed' }

        # A running program cannot be overwritten, but it can be renamed.
        $installed = Join-Path $bin 'prompt-expander.exe'
        Get-ChildItem $bin -Filter 'prompt-expander.old-*' | Remove-Item -ErrorAction SilentlyContinue
        if (Test-Path $installed) { Rename-Item $installed ('prompt-expander.old-' + [guid]::NewGuid()) }
        Move-Item $program $installed
    } finally {
        Remove-Item -Recurse -Force $new -ErrorAction SilentlyContinue
    }

    # `prompt-expander --version` reads it.
    $share = Join-Path (Split-Path $bin) 'share\prompt-expander'
    New-Item -ItemType Directory -Force -Path $share | Out-Null
    [IO.File]::WriteAllText("$share\installed-by", "install.ps1`n")

    "installed $(@($version)[0]) as $installed"
    if (($env:Path -split ';') -notcontains $bin) {
        "$bin is not in PATH. To add it for your user, run this, and open a new terminal:"
        "    [Environment]::SetEnvironmentVariable('Path', [Environment]::GetEnvironmentVariable('Path', 'User') + ';$bin', 'User')"
    }
    'Next, see which coding agents are here: prompt-expander install'
}

Install-PromptExpander
