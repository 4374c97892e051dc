import { describe, expect, it } from 'vitest'
import { checkFileData, checkFileUrl, checkImageUrl } from './content-parts.ts'

const data = (mediaType: string, bytes: string) =>
  `data:${mediaType};base64,${Buffer.from(bytes, 'latin1').toString('base64')}`

const PNG = '\x89PNG\r\n\x1a\n and so on'

describe('an image', () => {
  it.each(['https://a.example/b.png', 'HTTP://a', 'http://127.0.0.1:1/x', 'https://user:pass@a/é?q#f'])(
    'may be the address %s',
    (url) => {
      expect(checkImageUrl('p', url)).toEqual({ form: 'address', dataBytes: 0 })
    },
  )

  it.each([
    ['PNG', PNG],
    ['JPEG', '\xff\xd8\xff\xe0 and so on'],
    ['GIF', 'GIF89a and so on'],
    ['WebP', 'RIFF\x01\x02\x03\x04WEBPVP8 '],
    ['HEIC', '\0\0\0\x18ftypheic'],
    ['AVIF', '\0\0\0\x1cftypavif'],
  ])('is a picture as %s, under whatever name', (_name, bytes) => {
    const { length } = Buffer.from(bytes, 'latin1').toString('base64')
    expect(checkImageUrl('p', data('image/png', bytes))).toEqual({ form: 'picture', dataBytes: length })
    expect(checkImageUrl('p', data('image/x-icon', bytes))).toEqual({ form: 'picture', dataBytes: length })
  })

  it.each([
    ['SVG', 'image/svg+xml', '<svg>a long story</svg>'],
    ['words that call themselves a picture', 'image/png', 'Once upon a time, there was a PNG'],
    ['a picture behind words', 'image/png', `words ${PNG}`],
    ['a PDF', 'image/png', '%PDF-1.4'],
  ])('is text when read as %s', (_name, mediaType, bytes) => {
    expect(checkImageUrl('p', data(mediaType, bytes))).toMatchObject({ form: 'text' })
  })

  it.each([
    ...[
      '',
      'b.png',
      '/etc/passwd',
      'file:///etc/passwd',
      'ftp://a/b',
      'javascript:alert(1)',
      'gopher://a',
      'blob:https://a',
    ],
    ...['https://', 'http:a', 'https:// a', ' https://a', 'data:image/png,abc', 'data:image/png;base64,', 'data:,x'],
    ...['data:text/plain;base64,aGk=', 'data:application/pdf;base64,JVBERi0x', 'data:image/png;base64,not base64'],
    ...['AAAA', `https://a/${'x'.repeat(16_384)}`],
  ])('cannot be %j', (url) => {
    expect(checkImageUrl('p', url)).toMatchObject({ code: 'invalid_value', param: 'p' })
  })
})

describe('a file', () => {
  it('is a document as PDF, and else text', () => {
    expect(checkFileData('p', data('application/pdf', '%PDF-1.7 and so on'))).toMatchObject({ form: 'document' })
    expect(checkFileData('p', data('application/pdf', 'a long story'))).toMatchObject({ form: 'text' })
    expect(checkFileData('p', data('text/csv', 'a,b'))).toEqual({ form: 'text', dataBytes: 4 })
    expect(checkFileData('p', data('text/plain;charset=utf-8', PNG))).toMatchObject({ form: 'text' })
  })

  it.each([
    ...['', 'JVBERi0x', 'https://a/b.pdf', 'data:application/zip;base64,UEsD', 'data:image/png;base64,iVBORw0KGgo='],
    ...['data:text/plain,hello', 'data:text/plain;base64,', 'file:///etc/passwd'],
  ])('cannot be the data %j', (url) => {
    expect(checkFileData('p', url)).toMatchObject({ code: 'invalid_value', param: 'p' })
  })

  it('may be an address of the web, and no other', () => {
    expect(checkFileUrl('p', 'https://a/b.pdf')).toEqual({ form: 'address', dataBytes: 0 })
    for (const url of ['', 'b.pdf', 'file:///etc/passwd', 'ftp://a', data('application/pdf', '%PDF-1.7')]) {
      expect(checkFileUrl('p', url), url).toMatchObject({ code: 'invalid_value', param: 'p' })
    }
  })
})
