/** What a client gets to see of a delta or a message, whatever the provider calls it. */
export function visibleWords({ content, reasoning_content, reasoning, tool_calls }) {
  const calls = (tool_calls ?? []).flatMap((call) => [call.function?.name, call.function?.arguments])
  return [reasoning_content ?? reasoning, ...wordsIn(content), ...calls].map(textOf).join('')
}

export const visibleBytes = (piece) => Buffer.byteLength(visibleWords(piece))

/** Some providers send a list of parts, and thoughts as a list in a part. */
function wordsIn(content) {
  if (!Array.isArray(content)) return [content]
  return content.flatMap((part) => (Array.isArray(part.thinking) ? wordsIn(part.thinking) : [part.text]))
}

const textOf = (value) => (typeof value === 'string' ? value : '')
