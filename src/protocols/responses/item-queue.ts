import type { Fields } from '../../lib/types.ts'
import type { StreamState } from '../shared/stream-state.ts'
import {
  type ItemEvent,
  type ItemKind,
  isCall,
  nameOfCall,
  type OutputItem,
  type OutputPart,
  type PartKind,
} from './item-events.ts'

/** An item while it is heard: where its steps wait until it is its turn. */
export interface ReceivedItem {
  readonly item: OutputItem
  readonly index: number
  id: string | undefined
  openPart: OutputPart | undefined
  /** The provider has said that it is over; what is held of it is still to be told. */
  hasEnded: boolean
  hasStarted: boolean
  /** Its number among the items that have started. */
  toldAs: number
  readonly held: ItemEvent[]
  /** Of the words in these. */
  heldBytes: number
}

/** Answers have a handful of items, long agent turns some dozens. Each is looked for among all that there are, and told in frames of its own. */
const ITEMS_MAX = 4096
const PARTS_MAX = 4096

const NO_STEPS: readonly ItemEvent[] = []

interface NewItem extends Pick<OutputItem, 'kind' | 'fields'> {
  readonly id?: string | undefined
  readonly index: number
  readonly callId?: string
}

type Counts = Pick<StreamState, 'outputBytes' | 'heldBytes' | 'calls'>

/**
 * Puts items one after the other. Providers may write several at once; the first is told as it comes, and what comes for
 * the others meanwhile is held back. Nothing is lost: what is held is told when its turn comes.
 */
export class ItemQueue {
  readonly #counts: Counts
  readonly #noArguments: '' | '{}'
  /** In the order of telling; those that have been told to their end are gone. */
  readonly #waiting: ReceivedItem[] = []
  #steps: ItemEvent[] = []
  #itemCount = 0
  #toldCount = 0
  #partCount = 0

  /** `noArguments`: sent for a call without arguments. Clients parse it, and an empty string is not JSON. */
  constructor(counts: Counts, noArguments: '' | '{}') {
    this.#counts = counts
    this.#noArguments = noArguments
  }

  add({ kind, fields, id, index, callId }: NewItem): ReceivedItem {
    this.#itemCount += 1
    const received: ReceivedItem = {
      item: { kind, fields, callId, opaque: undefined, parts: [], status: undefined },
      id,
      index,
      openPart: undefined,
      hasEnded: false,
      hasStarted: false,
      toldAs: 0,
      held: [],
      heldBytes: 0,
    }
    const later = this.#waiting.findIndex((other) => !other.hasStarted && other.index > index)
    this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, received)
    this.#advance()
    return received
  }

  /** What is heard of an item later, such as the name without which a call is not told. */
  learn({ item, hasStarted }: ReceivedItem, fields: Fields): void {
    // A call goes on under the name that it was told of with.
    const told = hasStarted && isCall(item.kind) ? { name: item.fields.name } : {}
    item.fields = { ...item.fields, ...fields, ...told }
    if (!hasStarted) this.#advance()
  }

  /** Words for a part that is open. */
  say(received: ReceivedItem, part: OutputPart, text: string, event: Fields | undefined): void {
    part.text += text
    this.#counts.outputBytes += Buffer.byteLength(text)
    this.#tell(received, { type: 'delta', item: received.item, part, text, event })
  }

  /** The part of this kind and key, which is opened where it is not open, and whichever was open is closed. */
  openPart(received: ReceivedItem, kind: PartKind, key: number | undefined, fields: Fields): OutputPart {
    const { item, openPart } = received
    if (openPart?.kind === kind && (key === undefined || key === openPart.key)) return openPart
    this.closePart(received)
    const alike = item.parts.filter((part) => (part.kind === 'summary_text') === (kind === 'summary_text'))
    const part: OutputPart = {
      ...{
        kind,
        index: alike.length,
        key: key ?? alike.length,
        fields,
        ended: undefined,
        isWhole: false,
        text: '',
        annotations: [],
      },
    }
    item.parts.push(part)
    this.#partCount += 1
    received.openPart = part
    this.#tell(received, { type: 'part-start', item, part })
    return part
  }

  closePart(received: ReceivedItem): void {
    const { item, openPart: part } = received
    if (part === undefined) return
    received.openPart = undefined
    part.ended ??= {}
    this.#tell(received, { type: 'part-end', item, part })
  }

  annotate(received: ReceivedItem, part: OutputPart, event: Fields): void {
    const index = part.annotations.push(event.annotation) - 1
    this.#tell(received, { type: 'annotation', item: received.item, part, event, index })
  }

  /** The item is over. */
  end(received: ReceivedItem, status: 'completed' | 'incomplete'): void {
    const { item } = received
    if (received.hasEnded) return
    // A call without arguments has them all the same: they are empty.
    if (isCall(item.kind) && item.parts.length === 0) {
      this.openPart(received, item.kind === 'function_call' ? 'arguments' : 'input', undefined, {})
    }
    const { openPart } = received
    if (openPart?.kind === 'arguments' && openPart.text === '' && status === 'completed' && this.#noArguments !== '') {
      this.say(received, openPart, this.#noArguments, undefined)
    }
    this.closePart(received)
    received.hasEnded = true
    item.status = status
    this.#tell(received, { type: 'item-end', item })
    this.#advance()
  }

  /** Everything that is still open is over. */
  endAll(status: 'completed' | 'incomplete'): void {
    // The last of an answer that was cut is the one that is not whole.
    const open = this.#waiting.filter(({ hasEnded }) => !hasEnded)
    for (const [at, received] of open.entries()) this.end(received, at === open.length - 1 ? status : 'completed')
  }

  /** What has become tellable since the last time. */
  take(): readonly ItemEvent[] {
    const steps = this.#steps
    if (steps.length === 0) return NO_STEPS
    this.#steps = []
    return steps
  }

  /** What has become tellable since the last time is not told: its words were not said. */
  forget(): void {
    for (const step of this.take().toReversed())
      if (step.type === 'delta') step.part.text = step.part.text.slice(0, -step.text.length)
  }

  /** More items, or more parts of them, than any answer has. */
  tooMany(): boolean {
    return this.#itemCount > ITEMS_MAX || this.#partCount > PARTS_MAX
  }

  #tell(received: ReceivedItem, step: ItemEvent): void {
    if (received === this.#waiting[0] && received.hasStarted) {
      push(this.#steps, step)
      return
    }
    push(received.held, step)
    if (step.type !== 'delta') return
    const bytes = Buffer.byteLength(step.text)
    received.heldBytes += bytes
    this.#counts.heldBytes += bytes
    this.#passBy(received)
    this.#advance()
  }

  /** Where words come for a later item and the one before has said all that it began, its end will not come. */
  #passBy(received: ReceivedItem): void {
    let [first] = this.#waiting
    while (first !== undefined && first !== received && isIdle(first)) {
      this.end(first, 'completed')
      first = this.#waiting[0]
    }
  }

  /** Tells what is held of the items whose turn has come. */
  #advance(): void {
    const counts = this.#counts
    for (let [first] = this.#waiting; first !== undefined; first = this.#waiting[0]) {
      if (!first.hasStarted) {
        const name = isCall(first.item.kind) ? nameOfCall(first.item) : undefined
        // A call is told with its name, which may come late.
        if (name === '' && !first.hasEnded) return
        first.hasStarted = true
        first.toldAs = this.#toldCount++
        counts.outputBytes += Buffer.byteLength(name ?? '')
        if (name !== undefined) counts.calls += 1
        this.#steps.push({ type: 'item-start', item: first.item })
      }
      for (const step of first.held) this.#steps.push(step)
      first.held.length = 0
      counts.heldBytes -= first.heldBytes
      first.heldBytes = 0
      if (!first.hasEnded) return
      this.#waiting.shift()
    }
  }
}

export const partAt = (
  { item, openPart }: ReceivedItem,
  kind: PartKind,
  key: number | undefined,
): OutputPart | undefined =>
  openPart?.kind === kind && (key === undefined || openPart.key === key)
    ? openPart
    : item.parts.find((part) => part.kind === kind && (part.key === key || isCall(item.kind)))

/** Words that follow on words of the same part, with nothing said beside them, are told as one. */
function push(steps: ItemEvent[], step: ItemEvent): void {
  const last = steps[steps.length - 1]
  const goesOn =
    last?.type === 'delta' && step.type === 'delta' && last.part === step.part && !last.event && !step.event
  if (goesOn) steps[steps.length - 1] = { ...step, text: last.text + step.text }
  else steps.push(step)
}

/** All that it began is said: its parts have had their last words. */
const isIdle = ({ item, hasEnded }: ReceivedItem): boolean =>
  !hasEnded && item.parts.length > 0 && item.parts.every(({ ended }) => ended !== undefined)

/**
 * Which item an event speaks of. Servers name it by id, by index, by both, by neither, and some change the id in between;
 * an item of a tool that the provider runs itself is remembered too, so that its events are known for what they are.
 */
export interface ReceivedItems {
  /** For an event about parts or words of a kind of item; undefined when none is meant that is still open. */
  find(event: Fields, kind: ItemKind): ReceivedItem | 'not-ours' | undefined
  /** For the item itself, as it begins, ends, or stands in the whole response. */
  findItem(options: {
    id: string | undefined
    index: number | undefined
    kind: ItemKind
  }): ReceivedItem | 'not-ours' | undefined
  add(received: ReceivedItem): void
  addNotOurs(options: { id: string | undefined; index: number | undefined }): void
  readonly all: readonly ReceivedItem[]
  /** The next index, for an item that comes without one. */
  nextIndex(): number
}

export function createReceivedItems(): ReceivedItems {
  const all: ReceivedItem[] = []
  const byId = new Map<string, ReceivedItem | 'not-ours'>()
  const byIndex = new Map<number, ReceivedItem | 'not-ours'>()
  let nextIndex = 0

  const seen = (index: number): void => {
    nextIndex = Math.max(nextIndex, index + 1)
  }
  const isOpen = (found: ReceivedItem | 'not-ours' | undefined, kind: ItemKind): found is ReceivedItem | 'not-ours' =>
    found === 'not-ours' || (found !== undefined && !found.hasEnded && found.item.kind === kind)

  return {
    all,
    nextIndex: () => nextIndex,
    find(event, kind) {
      const { item_id: id, output_index: index } = event
      const named = typeof id === 'string' ? byId.get(id) : undefined
      if (isOpen(named, kind)) return named
      const placed = typeof index === 'number' ? byIndex.get(index) : undefined
      if (named === undefined && isOpen(placed, kind)) return placed
      // Without any address the words are those of the item that was begun last.
      if (id !== undefined || index !== undefined) return undefined
      const last = all[all.length - 1]
      return isOpen(last, kind) ? last : undefined
    },
    findItem({ id, index, kind }) {
      const named = id === undefined ? undefined : byId.get(id)
      if (named !== undefined) return named
      const placed = index === undefined ? undefined : byIndex.get(index)
      return placed !== undefined && placed !== 'not-ours' && placed.item.kind === kind ? placed : undefined
    },
    add(received) {
      all.push(received)
      byIndex.set(received.index, received)
      if (received.id !== undefined) byId.set(received.id, received)
      seen(received.index)
    },
    addNotOurs({ id, index }) {
      const at = index ?? nextIndex
      byIndex.set(at, 'not-ours')
      if (id !== undefined) byId.set(id, 'not-ours')
      seen(at)
    },
  }
}
