import { describe, expect, it } from 'vitest'
import { inlineData, isBase64, readDataUrl } from '../fields/content-parts.ts'

describe('a data URL', () => {
  it.each([
    ['data:image/png;base64,AAAA', 'image/png', 'AAAA'],
    ['DATA:Image/PNG;BASE64,AAAA', 'image/png', 'AAAA'],
    ['data:text/plain;charset=utf-8;name=a.txt;base64,aGk=', 'text/plain', 'aGk='],
    ['data:image/svg+xml;base64,', 'image/svg+xml', ''],
  ])('%s has a type and data', (url, mediaType, data) => {
    const read = readDataUrl(url)
    expect(read?.mediaType).toBe(mediaType)
    expect(url.slice(read?.dataStart)).toBe(data)
  })

  it.each([
    ...['', 'data:', 'data:,x', 'data:image/png,AAAA', 'data:;base64,AAAA', 'data:image/png;base64', 'https://a'],
    ...[
      'data:image;base64,AA',
      'data:image/png;base64;base64 ,AA',
      ' data:image/png;base64,AA',
      'data:__proto__;base64,A',
    ],
    `data:image/png;a=${'x'.repeat(600)};base64,AAAA`,
  ])('%s is none, or none in base64', (url) => {
    expect(readDataUrl(url)).toBeUndefined()
  })
})

it('data is taken out beside its type, of which there is a common slip', () => {
  expect(inlineData('data:image/JPG;name=a;base64,AAAA')).toEqual({ mediaType: 'image/jpeg', base64: 'AAAA' })
  expect(inlineData('https://a')).toBeUndefined()
})

describe('base64', () => {
  const LONG = Buffer.alloc(199_998, 'x').toString('base64')

  it.each(['AA', 'AA==', 'AAA', 'AAA=', 'AAAA', 'AAAAAA', '+/+/', LONG, `${LONG}AA==`])('%# is some', (data) => {
    expect(isBase64(`data:,${data}`, 6)).toBe(true)
  })

  it.each([
    ...[
      '',
      'A',
      '=',
      '==',
      '====',
      'AA=',
      'AAAA=',
      'AAAAA',
      'AA=A',
      'AB==CDEF',
      'A A=',
      'AA\nAA',
      'AA-_',
      'AAé=',
      'AA\u0000A',
    ],
    ...['AAAA====', '<b>hello</b>', `${LONG.slice(0, 99_999)}!${LONG.slice(100_000)}`, `${LONG.slice(1)} `],
  ])('%# is none', (data) => {
    expect(isBase64(`data:,${data}`, 6)).toBe(false)
  })
})
