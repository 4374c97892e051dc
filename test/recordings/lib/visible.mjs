/** The words of a message of Chat Completions, or of one of its deltas, that a client gets to see, under whatever name. */
export function wordsOfMessage({ content, reasoning_content, reasoning, tool_calls }) {
  const calls = (tool_calls ?? []).flatMap((call) => [call.function?.name, call.function?.arguments])
  return [reasoning_content ?? reasoning, ...wordsIn(content), ...calls].map(textOf).join('')
}

/** Some providers send a list of parts, and thoughts as a list in a part. */
function wordsIn(content) {
  if (!Array.isArray(content)) return [content]
  return content.flatMap((part) => (Array.isArray(part.thinking) ? wordsIn(part.thinking) : [part.text]))
}

/** The same of an output item of Responses. */
export function wordsOfItem({ name, arguments: written, input, summary, content }) {
  const parts = [...(summary ?? []), ...(content ?? [])].flatMap(({ text, refusal }) => [text, refusal])
  return [...parts, name, written ?? input].map(textOf).join('')
}

/** The same of a block of Messages. */
export const wordsOfBlock = ({ text, thinking, name, input }) =>
  [thinking, text, name, input && JSON.stringify(input)].map(textOf).join('')

/** The same of a part of generateContent. */
export const wordsOfPart = ({ text, functionCall: call }) =>
  [text, call?.name, call && JSON.stringify(call.args ?? {})].map(textOf).join('')

/** How many bytes of words the pieces of a stream have brought, of whatever wire. */
export function visibleBytes(pieces) {
  const emitted = new Map()
  let bytes = 0
  for (const piece of pieces) {
    if (piece.candidates) bytes += bytesOfCandidate(piece.candidates[0])
    else if (/^(message|content_block)_|^ping$/.test(piece.type)) bytes += bytesOfBlockEvent(piece)
    else if (piece.type === undefined) bytes += bytesOfChunk(piece)
    else parseEvent(emitted, piece)
  }
  return [...emitted.values()].reduce((sum, words) => sum + Buffer.byteLength(words), bytes)
}

const bytesOfChunk = ({ choices }) =>
  (choices ?? []).reduce((sum, { delta }) => sum + Buffer.byteLength(wordsOfMessage(delta ?? {})), 0)

const bytesOfCandidate = (candidate) => Buffer.byteLength((candidate?.content?.parts ?? []).map(wordsOfPart).join(''))

const bytesOfBlockEvent = ({ content_block: begun, delta }) =>
  Buffer.byteLength([begun?.name, delta?.text, delta?.thinking, delta?.partial_json].map(textOf).join(''))

/** Some servers send the words of a call only with its end, so whatever says more of one place counts. */
function parseEvent(emitted, { type, output_index, content_index, summary_index, delta, item, arguments: written }) {
  const place = `${output_index} ${content_index} ${summary_index}`
  if (typeof delta === 'string') emitted.set(place, (emitted.get(place) ?? '') + delta)
  if (type === 'response.output_item.added' && item.name) emitted.set(`${output_index} name`, item.name)
  if (typeof written === 'string' && written.length > (emitted.get(place)?.length ?? 0)) emitted.set(place, written)
}

const textOf = (value) => (typeof value === 'string' ? value : '')
