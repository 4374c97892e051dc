import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'

export interface PackedBody {
  readonly encoding: 'identity' | 'deflate'
  readonly bytes: Uint8Array
}

/** Less is not worth the way to another thread. */
const WORTH_BYTES = 512
/** Quick, and text repeats itself enough for it. */
const LEVEL = 2
/** What saves less than a tenth is not worth unpacking each time. */
const PACKED_SHARE_MAX = 0.9

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw)
const inflate = promisify<Uint8Array, object, Buffer>(inflateRaw)

/** Compressed where that pays; on another thread than the loop's. */
export async function packBody(bytes: Uint8Array): Promise<PackedBody> {
  if (bytes.length < WORTH_BYTES) return { encoding: 'identity', bytes }
  const packed = await deflate(bytes, { level: LEVEL })
  return packed.length < bytes.length * PACKED_SHARE_MAX
    ? { encoding: 'deflate', bytes: packed }
    : { encoding: 'identity', bytes }
}

export const unpackBody = async ({ encoding, bytes }: PackedBody, rawBytes: number): Promise<Uint8Array> =>
  encoding === 'identity' ? bytes : inflate(bytes, { maxOutputLength: Math.max(1, rawBytes) })
