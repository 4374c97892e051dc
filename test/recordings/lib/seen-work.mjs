/** Reads recordings with the readers of the built program: what was seen of the provider's work after each chunk. */
export async function readHow(load) {
  const [chat, chatDialects, anthropic, anthropicDialects, gemini, geminiDialects, responses] = await Promise.all(
    [
      'protocols/chat/read-events.js',
      'protocols/chat/dialects.js',
      'protocols/anthropic/read-events.js',
      'protocols/anthropic/dialects.js',
      'protocols/gemini/read-events.js',
      'protocols/gemini/dialects.js',
      'protocols/responses/read-stream.js',
    ].map(load),
  )
  const mint = { callId: () => 'call', completionId: () => 'chatcmpl', itemId: () => 'item', responseId: () => 'resp' }
  const options = (dialect) => ({ dialect, origin: 'recorded', mint })
  const READERS = {
    'openai-chat': ({ provider }) => chat.createEventReader(options(chatDialects.chatDialect(provider))),
    'openai-responses': () => responses.createItemEventReader('recorded'),
    anthropic: () => anthropic.createEventReader(options(anthropicDialects.anthropicDialect('anthropic'))),
    gemini: () => gemini.createEventReader(options(geminiDialects.geminiDialect('gemini'))),
  }
  return { read: (exchange) => seenOf(exchange, READERS[exchange.wire](exchange)) }
}

function seenOf(exchange, reader) {
  const states = exchange.chunks.map((chunk) => {
    reader.read(frameOf(chunk))
    const { usage, usageIsFinal, countedBytes, inputCounted, outputBytes, contentFrames, calls, finished } =
      reader.state
    return { usage, usageIsFinal, countedBytes, inputCounted, outputBytes, contentFrames, calls, finished }
  })
  const last = states.at(-1)
  return {
    ...exchange,
    lane: `${exchange.wire} ${modelOf(exchange)}`,
    states,
    last,
    ...hiddenIn(exchange.kind === 'stream' ? last : { ...last, contentFrames: 0 }),
  }
}

/** Whether the reasoning that was counted is among the words: their number says so. */
function hiddenIn({ usage, outputBytes, contentFrames, calls }) {
  const isTokenEach = outputBytes >= contentFrames * 2 && outputBytes <= contentFrames * 6.5
  const words = (isTokenEach ? contentFrames : outputBytes / 4) + calls * 12
  const answer = Math.max(usage.output - usage.reasoning, 1)
  const hidden = usage.reasoning > 0 && words * words < answer * usage.output ? usage.reasoning : 0
  return { hidden, outputText: usage.output - hidden }
}

const modelOf = ({ chunks }) => /"model(?:Version)?":"([^"]+)"/.exec(JSON.stringify(chunks))?.[1] ?? ''
const frameOf = (chunk) =>
  Buffer.from(`${chunk.type ? `event: ${chunk.type}\n` : ''}data: ${JSON.stringify(chunk)}\n\n`)
