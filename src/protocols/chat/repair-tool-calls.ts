import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import { JsonProgress } from '../json/scan-json.ts'
import type { CallsSoFar } from './chunk.ts'
import { argumentsText } from './write-messages.ts'

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
  /** A custom tool, whose input is free text and not JSON. */
  isCustom: boolean
  readonly written: JsonProgress
}

/** Clients parse the arguments, and an empty string is not JSON. */
const NO_ARGUMENTS = '{}'

/**
 * Makes tool calls what clients need: an index from 0 in the order in which they are told, an id, type and name in the
 * first fragment, arguments always a string. Servers leave out each of these somewhere; what is as it should be is not touched.
 */
export class ToolCallRepair {
  readonly #mintCallId: () => string
  readonly #calls: OpenCall[] = []
  // A provider may begin as many calls as fit into a frame: each is found without a look at the others.
  readonly #ids = new Set<string>()
  readonly #byUpstreamId = new Map<string, OpenCall>()
  readonly #byUpstreamIndex = new Map<number, OpenCall>()
  #last: OpenCall | undefined
  #toldCount = 0
  #waitingBytes = 0
  #isBroken = false

  constructor(mintCallId: () => string) {
    this.#mintCallId = mintCallId
  }

  /** The fragments of one delta; undefined when they can stay as they came. */
  repair(fragments: readonly unknown[]): Fields[] | undefined {
    const repaired = fragments.filter(isObject).flatMap((fragment) => this.#repair(fragment))
    return repaired.length === fragments.length && repaired.every((fragment, at) => fragment === fragments[at])
      ? undefined
      : repaired
  }

  /** More arguments of the call that was spoken of last, which need no mending. */
  goOn(text: string): void {
    if (this.#last !== undefined) this.#write(this.#last, text)
  }

  /** The arguments of a call are not JSON, and no more text can make them valid. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /**
   * Of calls that have come to their end without arguments: the fragments that say that there are none. Those of the last call
   * of an answer that was cut are not known.
   */
  withoutArguments({ isCut = false } = {}): Fields[] {
    return this.#calls.slice(0, isCut ? -1 : undefined).flatMap((call) => {
      if (call.index === undefined || call.isCustom || call.written.state !== 'empty') return []
      this.#write(call, NO_ARGUMENTS)
      return [{ index: call.index, function: { arguments: NO_ARGUMENTS } }]
    })
  }

  callsSoFar(): CallsSoFar {
    // What waits for a name at the end of the answer waits in vain.
    if (this.#calls.some(isNameless)) return 'nameless'
    // What is cut is the last one.
    const cut = this.#calls.findIndex(({ written }) => written.state === 'cut')
    if (this.#isBroken || (cut !== -1 && cut < this.#calls.length - 1)) return 'broken'
    if (cut !== -1) return 'cut'
    return this.#toldCount === 0 ? 'none' : 'whole'
  }

  /** Bytes of arguments that wait for the name of their call. */
  waitingBytes(): number {
    return this.#waitingBytes
  }

  #repair(fragment: Fields): Fields[] {
    const call = this.#callOf(fragment)
    this.#last = call
    if (isCustom(fragment)) call.isCustom = true
    else this.#write(call, argumentsOf(fragment))
    // One that never gets a name leaves no gap.
    if (isCustom(fragment) || nameOf(fragment) !== '') call.index ??= this.#toldCount++
    const before = call.earlyBytes
    const written = mendFragment(call, fragment)
    this.#waitingBytes += call.earlyBytes - before
    return written
  }

  #write(call: OpenCall, text: string): void {
    call.written.feed(text)
    if (call.written.state === 'broken') this.#isBroken = true
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
      isCustom: false,
      written: new JsonProgress(),
    }
    this.#calls.push(call)
    this.#ids.add(call.id)
    if (!this.#byUpstreamId.has(upstreamId)) this.#byUpstreamId.set(upstreamId, call)
    if (typeof index === 'number') this.#byUpstreamIndex.set(index, call)
    return call
  }
}

/** A fragment of which nothing is said is no call. */
const isNameless = ({ isCustom: isFree, name, upstreamId, early }: OpenCall): boolean =>
  !isFree && name === '' && (upstreamId !== '' || early !== '')

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
