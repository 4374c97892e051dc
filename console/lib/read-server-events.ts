/** One server-sent event. The name defaults to `message`. */
export interface ServerEvent {
  readonly event: string
  readonly data: string
}

interface ServerEventReader {
  /** The events that these bytes complete. A chunk may end anywhere, even inside a character. */
  read(bytes: Uint8Array): ServerEvent[]
  /** The events left at the end of the stream. As in browsers, an event without its blank line is dropped. */
  end(): ServerEvent[]
}

/** A whole answer can arrive in one event. */
const EVENT_CHARS_MAX = 32 * 1024 * 1024

interface Reading {
  /** The start of an unfinished line. */
  rest: string
  event: string
  data: string[]
  chars: number
  /** The last chunk ended with a carriage return. A line feed right after it belongs to it. */
  afterReturn: boolean
}

/** Reads server-sent events from chunks of any size, with any of the three line endings. */
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
