import { expect, it } from 'vitest'
import { packBody, unpackBody } from './sealing.ts'

it.each([511, 512, 8 * 1024, 8 * 1024 + 1, 200_000])('gives %i bytes back as they were', async (size) => {
  const bytes = Buffer.alloc(size, 'words that repeat themselves ')
  const packed = await packBody(bytes)
  expect(packed.encoding).toBe(size < 512 ? 'identity' : 'deflate')
  expect(Buffer.from(await unpackBody(packed, size))).toEqual(bytes)
})

it.each([2000, 200_000])('unpacks no more than there should be: %i bytes', async (size) => {
  const packed = await packBody(Buffer.alloc(size, 'a'))
  await expect(unpackBody(packed, size - 1)).rejects.toThrow()
})
