/** What may be wrong with an answer, and above all with its tool calls. The error message quotes it. */
export const BROKEN_ARGUMENTS = 'the arguments of a tool call are not JSON'
export const NAMELESS_CALL = 'a tool call without a name'
export const NO_CALLS = 'it ended with tool calls but contains none'
export const WORDS_BEHIND_END = 'content after the end of the answer'
