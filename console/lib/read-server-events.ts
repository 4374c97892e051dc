/** One event of a stream: its name, `message` where it has none, and all its data. */
export interface ServerEvent {
  readonly event: string
  readonly data: string
}

interface ServerEventReader {
  /** The events that these bytes complete. A piece may end anywhere, in the middle of a letter too. */
  read(bytes: Uint8Array): ServerEvent[]
  /** What is left when the stream ends: an event without its empty line does not count, as browsers have it. */
  end(): ServerEvent[]
}

/** A whole answer can come in one event; more than that is not an answer. */
const EVENT_CHARS_MAX = 32 * 1024 * 1024

interface Reading {
  /** Of a line whose end has not come. */
  rest: string
  event: string
  data: string[]
  chars: number
  /** The last piece ended with a return: a line feed at once after it belongs to it. */
  afterReturn: boolean
}

/** Reads server-sent events from pieces of any size, with any of the three line ends. */
export function createServerEventReader(): ServerEventReader {
  const decoder = new TextDecoder()
  const reading: Reading = { rest: '', event: '', data: [], chars: 0, afterReturn: false }
  return {
    read: (bytes) => readText(reading, decoder.decode(bytes, { stream: true })),
    end: () => readText(reading, decoder.decode()),
  }
}

function readText(reading: Reading, piece: string): ServerEvent[] {
  const text = reading.afterReturn && piece.startsWith('\n') ? piece.slice(1) : piece
  if (piece !== '') reading.afterReturn = piece.endsWith('\r')
  const lines = text.split(/\r\n|\r|\n/)
  lines[0] = reading.rest + lines[0]
  reading.rest = lines.pop() ?? ''
  if (reading.rest.length + reading.chars > EVENT_CHARS_MAX) throw new Error('An event of the stream is too large.')
  return lines.flatMap((line) => readLine(reading, line) ?? [])
}

function readLine(reading: Reading, line: string): ServerEvent | undefined {
  if (line === '') return dispatch(reading)
  const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
  if (name === 'event') reading.event = value
  if (name === 'data') {
    reading.data.push(value)
    reading.chars += value.length
  }
  return undefined
}

function dispatch(reading: Reading): ServerEvent | undefined {
  const { event, data } = reading
  Object.assign(reading, { event: '', data: [], chars: 0 })
  return data.length === 0 ? undefined : { event: event || 'message', data: data.join('\n') }
}
