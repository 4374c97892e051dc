import { type Fields, isObject } from '../../lib/is-object.ts'

const STRING = 'demo'
/** The whole example takes no more than this, in characters, but for brackets, quotes and escapes. */
const ROOM = 4000
/** What each value takes besides its name; in return its first characters are free. */
const VALUE_ROOM = 20
/** What one value is put together from: its schema, with all that this refers to. */
const PARTS_MAX = 20
/** More than the room allows. */
const REQUIRED_MAX = ROOM / VALUE_ROOM
const REFERENCE_MAX = 200

/**
 * What fits a schema, of a tool or of an answer, as far as a schema says it plainly: a pattern, or what two schemas demand
 * together, it may miss. Free text is what the question is about, if that is known. A client writes the schema, so the work
 * is bounded too: where the room is used up, and inside itself, a schema is given the smallest value.
 */
export function exampleJson(schema: Fields, subject = STRING): string {
  return JSON.stringify(exampleOf(schema, { root: schema, subject, room: new Room(), around: new Set() }))
}

interface Place {
  readonly root: Fields
  readonly subject: string
  readonly room: Room
  /** The schemas that this value is inside of. */
  readonly around: ReadonlySet<unknown>
}

class Room {
  left = ROOM

  /** What does not fit uses up the rest, so that little is looked at in vain. */
  take(characters: number): boolean {
    const fits = characters <= this.left
    this.left = fits ? this.left - characters : 0
    return fits
  }

  takeText(characters: number): boolean {
    return characters <= VALUE_ROOM || this.take(characters)
  }

  takeGiven(value: unknown): boolean {
    if (typeof value === 'string') return this.takeText(value.length)
    if (typeof value !== 'object' || value === null) return value !== undefined
    return this.left > 0 && this.take(JSON.stringify(value).length)
  }
}

function exampleOf(given: Fields, place: Place): unknown {
  const parts = partsOf(given, place)
  const schema = keywordsOf(parts)
  const value = [listOf(schema.enum)[0], schema.const, schema.default].find((each) => each !== undefined)
  if (place.room.takeGiven(value)) return value
  const inner = { ...place, around: new Set([...place.around, ...parts]) }
  switch (typeOf(schema)) {
    case 'string':
      return exampleText(schema, place)
    case 'number':
    case 'integer':
      return exampleNumber(schema)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return exampleArray(schema, inner)
    default:
      return exampleObject(parts, inner)
  }
}

/** A schema, what it refers to, the first of its alternatives, and all that it is besides. */
function partsOf(given: Fields, { root, around }: Place): readonly Fields[] {
  const parts = [given]
  const targetOf = ({ $ref }: Fields) => (typeof $ref === 'string' ? lookUp($ref, root) : undefined)
  const isInside = (part: unknown) => around.has(part) || parts.some((each) => each === part)
  const chosenOf = (alternatives: unknown) => {
    const options = listOf(alternatives).filter(isObject)
    return (
      options.find((option) => option.type !== 'null' && !isInside(targetOf(option))) ??
      options.find(({ type }) => type === 'null')
    )
  }
  for (const part of parts) {
    for (const more of [targetOf(part), chosenOf(part.anyOf), chosenOf(part.oneOf), ...listOf(part.allOf)]) {
      if (parts.length === PARTS_MAX) return parts
      if (isObject(more) && !isInside(more)) parts.push(more)
    }
  }
  return parts
}

const KEYWORDS = [
  ...['enum', 'const', 'default', 'type', 'items', 'minItems', 'format', 'minLength', 'maxLength'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]

/** The last part that has a keyword decides on it. */
const keywordsOf = (parts: readonly Fields[]): Fields =>
  Object.fromEntries(KEYWORDS.map((name) => [name, parts.findLast((part) => part[name] !== undefined)?.[name]]))

const listOf = (value: unknown, most = PARTS_MAX): readonly unknown[] =>
  Array.isArray(value) ? value.slice(0, most) : []

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {})

/** Resolves only references within the schema, such as `#/$defs/name`. */
function lookUp(reference: string, root: Fields): unknown {
  if (reference.length > REFERENCE_MAX) return undefined
  const [start, ...steps] = reference.split('/')
  if (start !== '#') return undefined
  return steps.reduce<unknown>((at, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }, root)
}

function typeOf({ type, items, minimum, maximum }: Fields): unknown {
  if (Array.isArray(type)) return listOf(type).find((each) => each !== 'null')
  if (type !== undefined) return type
  if (items !== undefined) return 'array'
  return minimum === undefined && maximum === undefined ? 'object' : 'number'
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-01-01',
  'date-time': '2026-01-01T12:00:00Z',
  time: '12:00:00Z',
  duration: 'PT1H',
  email: 'demo@example.com',
  uri: 'https://example.com/demo',
  url: 'https://example.com/demo',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function exampleText({ format, minLength, maxLength }: Fields, { subject, room }: Place): string {
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format)) return FORMATS[format]!
  const least = Math.min(boundOf(minLength, 0), TEXT_MAX)
  const text = subject.padEnd(least, '.').slice(0, Math.max(boundOf(maxLength, TEXT_MAX), 0))
  return room.takeText(text.length) ? text : text.slice(0, VALUE_ROOM)
}

/** Limits on our side: a schema that demands more is not satisfied. */
const TEXT_MAX = 1000
const ITEMS_MAX = 20

const boundOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise)

function exampleNumber({ type, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf }: Fields): number {
  const step = boundOf(multipleOf, type === 'integer' ? 1 : 0)
  const least = Math.max(
    boundOf(minimum, Number.NEGATIVE_INFINITY),
    boundOf(exclusiveMinimum, Number.NEGATIVE_INFINITY),
  )
  const most = Math.min(boundOf(maximum, Number.POSITIVE_INFINITY), boundOf(exclusiveMaximum, Number.POSITIVE_INFINITY))
  const inside = Math.min(Math.max(1, least), most)
  const isWithin = (value: number) =>
    value >= least && value <= most && value !== exclusiveMinimum && value !== exclusiveMaximum
  const whole = step > 0 ? [Math.ceil(inside / step), Math.floor(inside / step)].map((count) => count * step) : [inside]
  const near = whole.flatMap((value) => [value, value + (step || 1), value - (step || 1)])
  return [...near, (least + most) / 2].find(isWithin) ?? inside
}

function exampleArray({ items, minItems }: Fields, place: Place): unknown[] {
  const places = Array.from({ length: Math.min(boundOf(minItems, 0), ITEMS_MAX) })
  return places.filter(() => place.room.take(VALUE_ROOM)).map(() => exampleOf(fieldsOf(items), place))
}

/** What is required; all where nothing is said of that. Room is taken for all of it before any of it is filled. */
function exampleObject(parts: readonly Fields[], place: Place): Fields {
  const { room } = place
  if (room.left === 0) return {}
  const lists = parts.flatMap(({ required }) => (Array.isArray(required) ? [listOf(required, REQUIRED_MAX)] : []))
  const known = parts.map(({ properties }) => fieldsOf(properties))
  const named = lists.length > 0 ? lists.flat() : known.flatMap(Object.keys)
  const names = new Set(named.filter((name) => typeof name === 'string'))
  const schemaOf = (name: string) => known.findLast((fields) => Object.hasOwn(fields, name))?.[name]
  return Object.fromEntries(
    [...names]
      .filter((name) => room.take(name.length + VALUE_ROOM))
      .map((name) => [name, exampleOf(fieldsOf(schemaOf(name) ?? { type: 'string' }), place)]),
  )
}
