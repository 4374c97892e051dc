import { describe, expect, it } from 'vitest'
import type { OtherInput } from '../model/turn.ts'
import { estimateInput } from './estimate.ts'
import { inputBound } from './price.ts'

const model = { contextTokens: 1_000_000, bytesPerToken: 4, inputTokensMax: { image: 1500, file: 20_000 } }
const FOR_REQUEST = 64 + 8

const sized = (bytes: number, ...parts: Omit<OtherInput, 'param'>[]) => ({
  inputSize: { bodyBytes: bytes, inputBytes: bytes, messages: 1, tools: 0 },
  otherInputs: parts.map((part, at) => ({ ...part, param: `messages[0].content[${at}]` })),
})
const boundOf = (...asked: Parameters<typeof sized>) => inputBound(sized(...asked), model) - FOR_REQUEST
const estimateOf = (...asked: Parameters<typeof sized>) => estimateInput(sized(...asked), model)

const picture = (dataBytes: number) => ({ kind: 'image', form: 'picture', dataBytes }) as const
const document = (dataBytes: number) => ({ kind: 'file', form: 'document', dataBytes }) as const
const textFile = (dataBytes: number) => ({ kind: 'file', form: 'text', dataBytes }) as const

describe('what a request with parts is held for', () => {
  it('is the bound of each picture in the place of its data, however long or short that is', () => {
    expect(boundOf(500_100, picture(500_000))).toBe(100 + 1500)
    expect(boundOf(400, picture(100), picture(200))).toBe(100 + 2 * 1500)
  })

  it('is the bound of what is only an address, beside its bytes', () => {
    expect(boundOf(100, { kind: 'image', form: 'address', dataBytes: 0 })).toBe(100 + 1500)
    expect(boundOf(100, { kind: 'file', form: 'address', dataBytes: 0 })).toBe(100 + 20_000)
  })

  it('is never less than the bytes of what may be read as text, or opened by who knows whom', () => {
    expect(boundOf(500_100, textFile(500_000))).toBe(500_100)
    expect(boundOf(500_100, document(500_000))).toBe(500_100)
    expect(boundOf(500_100, { kind: 'image', form: 'text', dataBytes: 500_000 })).toBe(500_100)
    expect(boundOf(1100, textFile(1000))).toBe(100 + 20_000)
  })

  it('is the sum of all parts, beyond the context too, and a whole context where the catalogue has no bound', () => {
    const parts = Array.from({ length: 1000 }, () => picture(10))
    expect(boundOf(20_000, ...parts)).toBe(10_000 + 1000 * 1500)
    const unlisted = inputBound(sized(100, picture(10)), { ...model, inputTokensMax: {} })
    expect(unlisted - FOR_REQUEST).toBe(90 + 1_000_000)
  })
})

describe('what a request with parts is taken for', () => {
  it('is the bound of a picture and of an address', () => {
    expect(estimateOf(500_100, picture(500_000))).toBe(25 + 1500)
    expect(estimateOf(100, { kind: 'file', form: 'address', dataBytes: 0 })).toBe(25 + 20_000)
  })

  it('is a document at its bytes up to its bound, and text at its own', () => {
    expect(estimateOf(1100, document(1000))).toBe(25 + 1000)
    expect(estimateOf(500_100, document(500_000))).toBe(25 + 20_000)
    expect(estimateOf(400_100, textFile(400_000))).toBe(25 + 75_000)
  })

  it('is nothing below nothing where data is left out of what goes to a model', () => {
    const { inputSize, otherInputs } = sized(1000, picture(5000))
    expect(estimateInput({ inputSize, otherInputs }, model)).toBe(1500)
  })
})
