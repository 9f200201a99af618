# bash ends a word at a colon and at an equals sign: `lang=de` is three words, and only `de` is
# replaced by a completion. This joins such words, removes `lang=` from the completions, and quotes
# a space or `#` in them.
_prompt_expander() {
    local rest=$COMP_LINE words=() index word start=
    for ((index = 0; index <= COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if ((index == 0)) || [[ $rest == [[:space:]]* ]]; then
            words+=("")
            rest=${rest#"${rest%%[![:space:]]*}"}
        fi
        rest=${rest:${#word}}
        start=${words[${#words[@]} - 1]}
        words[${#words[@]} - 1]+=$word
    done
    # The last word may continue after the cursor. $2 is its part before the cursor, or empty if
    # that part is only `:` or `=`.
    [[ $2 || $word != [:=]* ]] || start+=$word
    words[${#words[@]} - 1]=$start$2
    COMP_WORDS=("${words[@]}")
    COMP_CWORD=$((${#words[@]} - 1))
    _clap_complete_prompt_expander "$1" "$start$2" "$3"
    for index in "${!COMPREPLY[@]}"; do
        word=${COMPREPLY[index]#"$start"}
        [[ $word != *[\ #]* ]] || printf -v word %q "$word"
        COMPREPLY[index]=$word
    done
    # Prompts that are used often come first. bash before 4.4 sorts all by name.
    [[ ! ${COMPREPLY-} ]] || compopt -o nosort 2> /dev/null
}
# With `default`, bash completes paths itself, because it quotes them.
complete -o bashdefault -o default -F _prompt_expander prompt-expander
