const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const DATA = Buffer.from('data')

/**
 * The data of a frame: its `data:` lines joined with LF, without the one space that may follow the colon. Undefined when
 * there is none, as in a comment or a keep-alive.
 */
export function readData(frame: Buffer): Buffer | undefined {
  const lines: Buffer[] = []
  for (let start = 0; start < frame.length; ) {
    const found = frame.indexOf(LF, start)
    const next = found === -1 ? frame.length : found + 1
    let end = found === -1 ? frame.length : found
    if (end > start && frame[end - 1] === CR) end--
    if (isDataLine(frame, start, end)) lines.push(valueAfterColon(frame, start, end))
    start = next
  }
  if (lines.length <= 1) return lines[0]
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [Buffer.from('\n'), line])))
}

function isDataLine(frame: Buffer, start: number, end: number): boolean {
  if (end - start < DATA.length || frame.compare(DATA, 0, DATA.length, start, start + DATA.length) !== 0) return false
  return end - start === DATA.length || frame[start + DATA.length] === COLON
}

function valueAfterColon(frame: Buffer, start: number, end: number): Buffer {
  let from = Math.min(start + DATA.length + 1, end)
  if (from < end && frame[from] === SPACE) from++
  return frame.subarray(from, end)
}
