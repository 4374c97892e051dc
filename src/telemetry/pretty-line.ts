import type { DescribedError } from './describe-error.ts'
import type { RequestLine } from './request-line.ts'

/** `12:01:22  200 POST /v1/chat/completions  demo  wallet  stream  9+24 tok  0.000000  first 31 ms  total 412 ms  req_…` */
export function prettyRequest(time: string, line: RequestLine): string {
  const { status, method, path, code, err } = line
  const parts = [
    time,
    [status ?? '---', method, path].filter(isSaid).join(' '),
    line.model,
    line.kind,
    line.delivery,
    isSaid(line.input_tokens) ? `${line.input_tokens}+${line.output_tokens} tok` : undefined,
    line.charge === undefined ? undefined : sixPlaces(line.charge),
    isSaid(line.first_byte_ms) ? `first ${line.first_byte_ms} ms` : undefined,
    isSaid(line.total_ms) ? `total ${line.total_ms} ms` : undefined,
    code ?? (line.outcome === 'completed' ? undefined : line.outcome),
    line.request_id,
  ]
  const text = parts.filter(isSaid).map(String).map(printable).join('  ')
  return `${text}\n${err === undefined ? '' : errorLines(err)}`
}

export function prettyMessage(
  time: string,
  level: string,
  message: string,
  facts: Readonly<Record<string, unknown>>,
): string {
  const { err, ...others } = facts
  const said = Object.entries(others)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const mark = level === 'info' ? [] : [level]
  const text = [time, ...mark, message, ...said].map(printable).join('  ')
  return `${text}\n${isError(err) ? errorLines(err) : ''}`
}

const isSaid = <Value>(value: Value | undefined): value is Value => value !== undefined

const isError = (value: unknown): value is DescribedError =>
  typeof value === 'object' && value !== null && 'message' in value

function errorLines(error: DescribedError, prefix = ''): string {
  const text = error.stack ?? `${error.name}: ${error.message}`
  const lines = text.split('\n').map((line, index) => `          ${index === 0 ? prefix : ''}${printable(line)}\n`)
  const inner = [...(error.cause ? [error.cause] : []), ...(error.errors ?? [])]
  return lines.join('') + inner.map((each) => errorLines(each, 'because of ')).join('')
}

/** Money on a terminal stands in columns: six places at least, more where they count. */
const sixPlaces = (amount: string): string => {
  const [whole, fraction = ''] = amount.split('.')
  return `${whole}.${fraction.padEnd(6, '0')}`
}

/** A client's text must not be able to move the cursor or colour the terminal of whoever reads the log. */
const printable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes
  text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?')
