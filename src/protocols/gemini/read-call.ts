import { type Fields, isObject } from '../../lib/types.ts'
import { isMarkedNumber, restoreNumbersIn } from '../json/exact-numbers.ts'

/** A call as the model has made it. */
export interface ReadCall {
  readonly name: string
  /** JSON, or whatever stood where it should. Undefined: nobody can write it down again. */
  readonly args: string | undefined
  readonly signature: string | undefined
}

/** Reads the calls of one answer. They come whole; one that is told in pieces waits here until it is. */
export interface CallReader {
  read(part: Fields, functionCall: Fields): readonly ReadCall[] | 'nameless'
  /** What still waits, when nothing more comes. */
  rest(): readonly ReadCall[]
  waitingBytes(): number
}

interface Waiting {
  readonly name: string
  readonly args: Fields
  signature: string | undefined
  bytes: number
}

export function createCallReader(): CallReader {
  let waiting: Waiting | undefined
  const rest = (): readonly ReadCall[] => {
    if (waiting === undefined) return []
    const { name, args, signature } = waiting
    waiting = undefined
    return [{ name, args: textOf(args), signature }]
  }
  return {
    rest,
    waitingBytes: () => waiting?.bytes ?? 0,
    read(part, functionCall) {
      const { name, args, partialArgs } = functionCall
      const goesOn = functionCall.willContinue === true
      const signature = signatureOf(part)
      const ended: ReadCall[] = []
      if (typeof name === 'string' && name !== '' && name !== waiting?.name) {
        ended.push(...rest())
        if (!goesOn && !Array.isArray(partialArgs)) return [...ended, { name, args: textOf(args ?? {}), signature }]
        waiting = { name, args: noArgs(), signature, bytes: Buffer.byteLength(name) }
      }
      // Only the continuation of a call may lack a name.
      if (waiting === undefined) return 'nameless'
      waiting.signature ??= signature
      add(waiting, args, partialArgs)
      return goesOn ? ended : [...ended, ...rest()]
    },
  }
}

export const signatureOf = ({ thoughtSignature }: Fields): string | undefined =>
  typeof thoughtSignature === 'string' && thoughtSignature !== '' ? thoughtSignature : undefined

function add(waiting: Waiting, args: unknown, partialArgs: unknown): void {
  if (isObject(args)) {
    Object.assign(waiting.args, args)
    waiting.bytes += Buffer.byteLength(textOf(args) ?? '')
  }
  for (const arg of Array.isArray(partialArgs) ? partialArgs : []) {
    addPartialArg(waiting.args, arg)
    waiting.bytes += bytesOf(arg)
  }
}

/** A piece that is no text counts too: who sends numbers without end shall be cut off as well. */
const bytesOf = (arg: unknown): number =>
  isObject(arg) && typeof arg.stringValue === 'string' ? Buffer.byteLength(arg.stringValue) : 1

/** What is nested too deeply for being written cannot be handed on. */
function textOf(args: unknown): string | undefined {
  if (typeof args === 'string' && !isMarkedNumber(args)) return args
  try {
    return restoreNumbersIn(JSON.stringify(args))
  } catch {
    return undefined
  }
}

/**
 * Arguments that come in pieces, each with the path of what it belongs to (`$.city`, `$.days[0]['from']`): a text goes on
 * where it was, anything else stands whole. It is not asked for, and nothing that comes can make it grow beyond what was sent.
 */
export function addPartialArg(root: Fields, arg: unknown): void {
  if (!isObject(arg) || typeof arg.jsonPath !== 'string') return
  const value = pieceOf(arg)
  const steps = stepsOf(arg.jsonPath)
  if (value === undefined || steps === undefined) return
  let place: Container = root
  for (const [at, step] of steps.entries()) {
    if (!fits(place, step)) return
    const next = steps[at + 1]
    if (next === undefined) put(place, step, value)
    else {
      const inner: unknown = memberOf(place, step) ?? open(place, step, next)
      if (!isContainer(inner)) return
      place = inner
    }
  }
}

/** Without a prototype, so that every name is only a name. */
export const noArgs = (): Fields => Object.create(null) as Fields

type Step = string | number
type Container = Fields | unknown[]
type Piece = string | number | boolean | null

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null

function pieceOf({ stringValue, numberValue, boolValue, nullValue }: Fields): Piece | undefined {
  if (typeof stringValue === 'string') return stringValue
  if (typeof numberValue === 'number' || isMarkedNumber(numberValue)) return numberValue
  if (typeof boolValue === 'boolean') return boolValue
  return nullValue === undefined ? undefined : null
}

const STEP = /\.([^.[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
const STEPS_MAX = 100

/** Undefined for what is no path into an object. */
function stepsOf(path: string): readonly Step[] | undefined {
  const steps: Step[] = []
  STEP.lastIndex = path.startsWith('$') ? 1 : 0
  while (STEP.lastIndex < path.length) {
    const found = STEP.exec(path)
    if (found === null || steps.length === STEPS_MAX) return undefined
    const [, name, index, quoted, other] = found
    steps.push(index === undefined ? (name ?? quoted ?? other ?? '').replace(/\\(.)/g, '$1') : Number(index))
  }
  return steps.length === 0 ? undefined : steps
}

/** A list goes on where it ends, and has no holes. */
const fits = (place: Container, step: Step): boolean =>
  Array.isArray(place) ? typeof step === 'number' && step <= place.length : typeof step === 'string'

/** What every object inherits is no member of it: what came whole is an ordinary object, and a path must not lead out of it. */
const memberOf = (place: Container, step: Step): unknown =>
  Object.hasOwn(place, step) ? (place as Fields)[step] : undefined

const define = (place: Container, step: Step, value: unknown): void => {
  Object.defineProperty(place, step, { value, enumerable: true, writable: true, configurable: true })
}

function open(place: Container, step: Step, next: Step): Container {
  const inner: Container = typeof next === 'number' ? [] : noArgs()
  define(place, step, inner)
  return inner
}

function put(place: Container, step: Step, value: Piece): void {
  const before = memberOf(place, step)
  const goesOn = typeof before === 'string' && typeof value === 'string'
  define(place, step, goesOn ? before + value : value)
}
