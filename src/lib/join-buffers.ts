/** Several buffers as one: without a copy where they lie side by side in memory, as the pieces of one read do. */
export function joinBuffers(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces
  if (first === undefined || pieces.length === 1) return first ?? Buffer.alloc(0)
  let end = first.byteOffset
  for (const piece of pieces) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== end) return Buffer.concat(pieces)
    end += piece.length
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset)
}
