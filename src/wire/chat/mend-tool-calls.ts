import { type Fields, isObject } from '../../lib/is-object.ts'
import { stringOf } from '../../lib/string-of.ts'
import { createJsonWatch, type JsonWatch } from '../json/json-watch.ts'
import { argumentsText } from './arguments-text.ts'
import type { CallsSoFar } from './finish-reason.ts'

interface OpenCall {
  /** Its place among the calls that the client is told of; undefined until it is one of them. */
  index: number | undefined
  readonly id: string
  /** The server's own, or ''. */
  readonly upstreamId: string
  name: string
  /** Arguments that came before the name, which the first fragment must carry. */
  early: string
  earlyBytes: number
  readonly watch: JsonWatch
}

/**
 * Makes tool calls what clients need: an index from 0 in the order in which they are told, an id, type and name in the
 * first fragment, arguments always a string. Servers leave out each of these somewhere; what is as it should be is not touched.
 */
export class ToolCallMender {
  readonly #mintCallId: () => string
  readonly #calls: OpenCall[] = []
  // A provider may begin as many calls as fit into a frame: each is found without a look at the others.
  readonly #ids = new Set<string>()
  readonly #byUpstreamId = new Map<string, OpenCall>()
  readonly #byUpstreamIndex = new Map<number, OpenCall>()
  #last: OpenCall | undefined
  #toldCount = 0
  #waitingBytes = 0

  constructor(mintCallId: () => string) {
    this.#mintCallId = mintCallId
  }

  /** The fragments of one delta; undefined when they can stay as they came. */
  mend(fragments: readonly unknown[]): Fields[] | undefined {
    const mended = fragments.filter(isObject).flatMap((fragment) => this.#mend(fragment))
    return mended.length === fragments.length && mended.every((fragment, at) => fragment === fragments[at])
      ? undefined
      : mended
  }

  /** More arguments of the call that was spoken of last, which need no mending. */
  goOn(text: string): void {
    this.#last?.watch.feed(text)
  }

  callsSoFar(): CallsSoFar {
    if (this.#calls.some(({ watch }) => watch.isOpen())) return 'cut'
    return this.#toldCount === 0 ? 'none' : 'whole'
  }

  /** Bytes of arguments that wait for the name of their call. */
  waitingBytes(): number {
    return this.#waitingBytes
  }

  #mend(fragment: Fields): Fields[] {
    const call = this.#callOf(fragment)
    this.#last = call
    call.watch.feed(argumentsOf(fragment))
    // One that never gets a name leaves no gap.
    if (isCustom(fragment) || nameOf(fragment) !== '') call.index ??= this.#toldCount++
    const before = call.earlyBytes
    const written = mendFragment(call, fragment)
    this.#waitingBytes += call.earlyBytes - before
    return written
  }

  /** Which call a fragment belongs to. An index that comes again with another id and a name is a new call. */
  #callOf(fragment: Fields): OpenCall {
    const id = stringOf(fragment.id) ?? ''
    const isNamed = nameOf(fragment) !== ''
    const known =
      typeof fragment.index === 'number'
        ? this.#byUpstreamIndex.get(fragment.index)
        : ((id === '' ? undefined : this.#byUpstreamId.get(id)) ?? (isNamed ? undefined : this.#calls.at(-1)))
    const startsAnother = known !== undefined && id !== '' && id !== known.upstreamId && isNamed
    return known === undefined || startsAnother ? this.#open(fragment, id) : known
  }

  #open({ index }: Fields, upstreamId: string): OpenCall {
    // Results are paired by id, so two calls may not share one.
    const isTaken = this.#ids.has(upstreamId)
    const call: OpenCall = {
      index: undefined,
      id: upstreamId === '' || isTaken ? this.#mintCallId() : upstreamId,
      upstreamId,
      name: '',
      early: '',
      earlyBytes: 0,
      watch: createJsonWatch(),
    }
    this.#calls.push(call)
    this.#ids.add(call.id)
    if (!this.#byUpstreamId.has(upstreamId)) this.#byUpstreamId.set(upstreamId, call)
    if (typeof index === 'number') this.#byUpstreamIndex.set(index, call)
    return call
  }
}

function mendFragment(call: OpenCall, fragment: Fields): Fields[] {
  // Free text comes from the few servers that know custom tools, and they send it as it should be.
  if (isCustom(fragment)) return [fragment.index === call.index ? fragment : { ...fragment, index: call.index }]
  const name = nameOf(fragment)
  const written = argumentsOf(fragment)
  if (call.name === '') {
    // Nobody can show a call without a name: what comes before it waits.
    if (name === '') {
      call.early += written
      call.earlyBytes += Buffer.byteLength(written)
      return []
    }
    call.name = name
    const first = firstFragment(call, fragment, name, call.early + written)
    call.early = ''
    call.earlyBytes = 0
    return [first]
  }
  return [laterFragment(call, fragment, written)]
}

function firstFragment(call: OpenCall, fragment: Fields, name: string, written: string): Fields {
  const fine =
    fragment.index === call.index &&
    fragment.id === call.id &&
    fragment.type === 'function' &&
    rawArguments(fragment) === written
  if (fine) return fragment
  const details = isObject(fragment.function) ? fragment.function : {}
  return {
    ...fragment,
    index: call.index,
    id: call.id,
    type: 'function',
    function: { ...details, name, arguments: written },
  }
}

function laterFragment(call: OpenCall, fragment: Fields, written: string): Fields {
  const raw = rawArguments(fragment)
  const fine =
    fragment.index === call.index &&
    (fragment.id === undefined || fragment.id === null || fragment.id === call.id) &&
    (raw === written || raw === undefined) &&
    nameOf(fragment) === ''
  if (fine) return fragment
  return { index: call.index, function: { arguments: written } }
}

const isCustom = (fragment: Fields): boolean => fragment.type === 'custom' || isObject(fragment.custom)

function nameOf({ function: called, custom }: Fields): string {
  const named = isObject(called) ? called : custom
  return isObject(named) ? (stringOf(named.name) ?? '') : ''
}

const rawArguments = (fragment: Fields): unknown =>
  isObject(fragment.function) ? fragment.function.arguments : undefined

const argumentsOf = (fragment: Fields): string => argumentsText(rawArguments(fragment))
