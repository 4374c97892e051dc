import { type Fields, isObject } from '../../lib/is-object.ts'
import { addPartialArg, noArgs } from './partial-args.ts'

/** A call as the model has made it. */
export interface ReadCall {
  readonly name: string
  /** JSON, or whatever stood where it should. Undefined: nobody can write it down again. */
  readonly args: string | undefined
  readonly signature: string | undefined
}

/** Reads the calls of one answer. They come whole; one that is told in pieces waits here until it is. */
export interface CallReader {
  read(part: Fields, functionCall: Fields): readonly ReadCall[]
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
      if (waiting === undefined) return ended
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
  if (typeof args === 'string') return args
  try {
    return JSON.stringify(args)
  } catch {
    return undefined
  }
}
