/**
 * How far each running stream has got, packed into one record of the node. After a crash this is all that is known of an
 * answer that was being delivered, so it is made durable every interval (R2).
 */
const BYTES_PER_MARK = 12

export function packMarks(delivered: ReadonlyMap<number, number>): Uint8Array {
  const packed = Buffer.allocUnsafe(delivered.size * BYTES_PER_MARK)
  let offset = 0
  for (const [receipt, tokens] of delivered) {
    packed.writeDoubleLE(receipt, offset)
    packed.writeUInt32LE(tokens, offset + 8)
    offset += BYTES_PER_MARK
  }
  return packed
}

export function unpackMarks(packed: Uint8Array): Map<number, number> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const delivered = new Map<number, number>()
  for (let offset = 0; offset + BYTES_PER_MARK <= bytes.length; offset += BYTES_PER_MARK) {
    delivered.set(bytes.readDoubleLE(offset), bytes.readUInt32LE(offset + 8))
  }
  return delivered
}
