import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'

export interface PackedBody {
  readonly encoding: 'identity' | 'deflate'
  readonly bytes: Uint8Array
}

/** Less saves nothing that is worth a look. */
const WORTH_BYTES = 512
/** Less is packed and unpacked sooner than another thread can be asked to: a tenth of a millisecond at most. */
const ON_LOOP_BYTES_MAX = 8 * 1024
/** Quick, and text repeats itself enough for it. */
const LEVEL = 2
/** What saves less than a tenth is not worth unpacking each time. */
const PACKED_SHARE_MAX = 0.9

const deflate = promisify<Uint8Array, object, Buffer>(deflateRaw)
const inflate = promisify<Uint8Array, object, Buffer>(inflateRaw)

/** Compressed where that pays; on another thread than the loop's, unless it is short. */
export async function packBody(bytes: Uint8Array): Promise<PackedBody> {
  if (bytes.length < WORTH_BYTES) return { encoding: 'identity', bytes }
  const onLoop = bytes.length <= ON_LOOP_BYTES_MAX
  const packed = onLoop ? deflateRawSync(bytes, { level: LEVEL }) : await deflate(bytes, { level: LEVEL })
  return packed.length < bytes.length * PACKED_SHARE_MAX
    ? { encoding: 'deflate', bytes: packed }
    : { encoding: 'identity', bytes }
}

export async function unpackBody({ encoding, bytes }: PackedBody, rawBytes: number): Promise<Uint8Array> {
  if (encoding === 'identity') return bytes
  const bounds = { maxOutputLength: Math.max(1, rawBytes) }
  return rawBytes <= ON_LOOP_BYTES_MAX ? inflateRawSync(bytes, bounds) : inflate(bytes, bounds)
}
