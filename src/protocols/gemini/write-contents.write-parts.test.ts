import { expect, it } from 'vitest'
import { writePart } from './write-contents.ts'

const inline = (mimeType: string) => ({ inlineData: { mimeType, data: 'AAAA' } })

it('data gets the media type that the server knows, in any letter case', () => {
  const image = (url: string) => writePart({ type: 'image', url, detail: undefined })
  expect(image('data:image/jpg;base64,AAAA')).toEqual(inline('image/jpeg'))
  expect(image('DATA:Image/PNG;BASE64,AAAA')).toEqual(inline('image/png'))
  const file = { type: 'file', name: undefined, url: undefined, id: undefined } as const
  expect(writePart({ ...file, data: 'DATA:application/pdf;base64,AAAA' })).toEqual(inline('application/pdf'))
})
