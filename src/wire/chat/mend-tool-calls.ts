import { type Fields, isObject } from '../../lib/is-object.ts'
import { createJsonWatch, type JsonWatch } from '../json/json-watch.ts'
import type { CallsSoFar } from './finish-reason.ts'

/**
 * Tool calls as clients need them: an index from 0 in the order of appearance, an id, type and name in the first
 * fragment, arguments always a string. Servers leave out each of these somewhere; what is as it should be is not touched.
 */
export interface ToolCallMender {
  /** The fragments of one delta; undefined when they can stay as they came. */
  mend(fragments: readonly unknown[]): Fields[] | undefined
  /** More arguments of the call that was spoken of last, which need no mending. */
  goOn(text: string): void
  calls: () => CallsSoFar
  /** Bytes of arguments that wait for the name of their call. */
  waitingBytes(): number
}

interface OpenCall {
  readonly index: number
  readonly id: string
  /** The server's own, or ''. */
  readonly upstreamId: string
  name: string
  /** Arguments that came before the name, which the first fragment must carry. */
  early: string
  earlyBytes: number
  readonly watch: JsonWatch
}

export function createToolCallMender(mintCallId: () => string): ToolCallMender {
  const calls: OpenCall[] = []
  // A provider may begin as many calls as fit into a frame: each is found without a look at the others.
  const ids = new Set<string>()
  const byUpstreamId = new Map<string, OpenCall>()
  const byUpstreamIndex = new Map<number, OpenCall>()
  let last: OpenCall | undefined
  let waitingBytes = 0

  const open = (fragment: Fields): OpenCall => {
    const upstreamId = textOf(fragment.id)
    // Results are paired by id, so two calls may not share one.
    const isTaken = ids.has(upstreamId)
    const call: OpenCall = {
      index: calls.length,
      id: upstreamId === '' || isTaken ? mintCallId() : upstreamId,
      upstreamId,
      name: '',
      early: '',
      earlyBytes: 0,
      watch: createJsonWatch(),
    }
    calls.push(call)
    ids.add(call.id)
    if (!byUpstreamId.has(upstreamId)) byUpstreamId.set(upstreamId, call)
    if (typeof fragment.index === 'number') byUpstreamIndex.set(fragment.index, call)
    return call
  }

  /** Which call a fragment belongs to. An index that comes again with another id and a name is a new call. */
  const callOf = (fragment: Fields): { call: OpenCall; isNew: boolean } => {
    const id = textOf(fragment.id)
    const known =
      typeof fragment.index === 'number'
        ? byUpstreamIndex.get(fragment.index)
        : ((id === '' ? undefined : byUpstreamId.get(id)) ?? (nameOf(fragment) === '' ? calls.at(-1) : undefined))
    const startsAnother = known !== undefined && id !== '' && id !== known.upstreamId && nameOf(fragment) !== ''
    return known && !startsAnother ? { call: known, isNew: false } : { call: open(fragment), isNew: true }
  }

  return {
    calls() {
      if (calls.length === 0) return 'none'
      return calls.some(({ watch }) => watch.isOpen()) ? 'cut' : 'whole'
    },
    goOn: (text) => last?.watch.feed(text),
    waitingBytes: () => waitingBytes,
    mend(fragments) {
      const mended = fragments.filter(isObject).flatMap((fragment) => {
        const { call } = callOf(fragment)
        last = call
        call.watch.feed(argumentsOf(fragment))
        const before = call.earlyBytes
        const written = mendFragment(call, fragment)
        waitingBytes += call.earlyBytes - before
        return written
      })
      return mended.length === fragments.length && mended.every((fragment, at) => fragment === fragments[at])
        ? undefined
        : mended
    },
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

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const isCustom = (fragment: Fields): boolean => fragment.type === 'custom' || isObject(fragment.custom)

function nameOf({ function: called, custom }: Fields): string {
  const named = isObject(called) ? called : custom
  return isObject(named) ? textOf(named.name) : ''
}

const rawArguments = (fragment: Fields): unknown =>
  isObject(fragment.function) ? fragment.function.arguments : undefined

function argumentsOf(fragment: Fields): string {
  const raw = rawArguments(fragment)
  if (typeof raw === 'string') return raw
  return isObject(raw) || Array.isArray(raw) ? JSON.stringify(raw) : ''
}
