import { type Fields, isObject } from '../../../src/lib/types.ts'
import { Broken, isJson } from './answer.ts'

/** A frame of Server-Sent Events, as the standard has a reader find it. */
export interface WireFrame {
  readonly name: string
  readonly emitted: Fields
  readonly json: string
}

export interface WireFrames {
  /** One after the other, up to the mark of the end; throws `Broken` where one is no JSON object. */
  readonly frames: Iterable<WireFrame>
  /** Why a reader may as well refuse the stream: the standard passes over it, and no provider sends it. */
  readonly doubts: Set<string>
}

const FIELDS = new Set(['data', 'event', 'id', 'retry'])

/** A frame that no empty line closes may count where it is whole. `breaks`: the connection ends in the middle. */
export function wireFrames(bytes: Buffer, { breaks }: { readonly breaks: boolean }): WireFrames {
  const text = new TextDecoder().decode(bytes)
  const doubts = new Set<string>()
  if (/\r(?!\n)/.test(text)) doubts.add('a line that ends with CR alone')
  // What follows the last end of a line is no line yet; at the very end a CR may be half of one.
  const end = text.lastIndexOf('\n') + 1
  const lines = text.slice(0, end).split(/\r\n|\n|\r/)
  const rest = breaks ? undefined : text.slice(end).replace(/\r$/, '')
  return { frames: framesOf(lines.slice(0, -1), rest, doubts), doubts }
}

/** Some quote it, and some have a blank too many. */
const DONE_FOR_CERTAIN = '"[DONE]" '.length
const DONE_WITHIN = 2 * '[DONE]'.length

const DEEP = /(?:\{"a":|\[){100}/

function* framesOf(lines: readonly string[], rest: string | undefined, doubts: Set<string>): Iterable<WireFrame> {
  let data: string[] = []
  let name = ''
  const all = rest === undefined ? lines : [...lines, rest, '']
  for (const [at, line] of all.entries()) {
    const isUnclosed = at >= lines.length
    if (line !== '') {
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
      if (field === 'data') data.push(value)
      else if (field === 'event') name = value
      else if (field !== '' && !FIELDS.has(field)) doubts.add('a line that is no field')
      continue
    }
    const json = data.join('\n')
    if (json.includes('[DONE]') && json.length < DONE_WITHIN) {
      if (json.length > DONE_FOR_CERTAIN) doubts.add('an end that is spoiled')
      return
    }
    if (DEEP.test(json)) doubts.add('nested deeper than anything that a provider says')
    if (isUnclosed && json !== '') {
      doubts.add('no empty line behind it')
      if (!isJson(json) || !isObject(JSON.parse(json))) return
    }
    if (json !== '') yield { name, emitted: objectIn(json), json }
    data = []
    name = ''
  }
}

function objectIn(data: string): Fields {
  const value: unknown = isJson(data) ? JSON.parse(data) : undefined
  if (!isObject(value)) throw new Broken('a frame that is no JSON object')
  return value
}

/** Servers may have the field in every frame, with nothing in it. */
export function checkNoError(error: unknown): void {
  if (error !== undefined && error !== null && error !== false && error !== '') throw new Broken('an error')
}
