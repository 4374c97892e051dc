import type { Fields } from '../../lib/is-object.ts'
import type { Heard } from '../heard.ts'
import { type ItemStep, isCall, nameOfCall, type PartKind, type SpokenItem, type SpokenPart } from './spoken-item.ts'

/** An item while it is heard: where its steps wait until it is its turn. */
export interface HeardItem {
  readonly item: SpokenItem
  readonly index: number
  id: string | undefined
  openPart: SpokenPart | undefined
  /** The provider has said that it is over; what is held of it is still to be told. */
  hasEnded: boolean
  hasStarted: boolean
  /** Its number among the items that have started. */
  toldAs: number
  readonly held: ItemStep[]
  /** Of the words in these. */
  heldBytes: number
}

/** Answers have a handful of items, long agent turns some dozens. Each is looked for among all that there are, and told in frames of its own. */
const ITEMS_MAX = 4096
const PARTS_MAX = 4096

const NO_STEPS: readonly ItemStep[] = []

interface NewItem extends Pick<SpokenItem, 'kind' | 'fields'> {
  readonly id?: string | undefined
  readonly index: number
  readonly callId?: string
}

type Counts = Pick<Heard, 'outputBytes' | 'heldBytes' | 'calls'>

/**
 * Puts items one after the other. Providers may write several at once; the first is told as it comes, and what comes for
 * the others meanwhile is held back. Nothing is lost: what is held is told when its turn comes.
 */
export class ItemQueue {
  readonly #counts: Counts
  readonly #noArguments: '' | '{}'
  /** In the order of telling; those that have been told to their end are gone. */
  readonly #waiting: HeardItem[] = []
  #steps: ItemStep[] = []
  #itemCount = 0
  #toldCount = 0
  #partCount = 0

  /** `noArguments`: sent for a call without arguments. Clients parse it, and an empty string is not JSON. */
  constructor(counts: Counts, noArguments: '' | '{}') {
    this.#counts = counts
    this.#noArguments = noArguments
  }

  add({ kind, fields, id, index, callId }: NewItem): HeardItem {
    this.#itemCount += 1
    const heard: HeardItem = {
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
    this.#waiting.splice(later === -1 ? this.#waiting.length : later, 0, heard)
    this.#advance()
    return heard
  }

  /** What is heard of an item later, such as the name without which a call is not told. */
  learn({ item, hasStarted }: HeardItem, fields: Fields): void {
    // A call goes on under the name that it was told of with.
    const told = hasStarted && isCall(item.kind) ? { name: item.fields.name } : {}
    item.fields = { ...item.fields, ...fields, ...told }
    if (!hasStarted) this.#advance()
  }

  /** Words for a part that is open. */
  say(heard: HeardItem, part: SpokenPart, text: string, event: Fields | undefined): void {
    part.text += text
    this.#counts.outputBytes += Buffer.byteLength(text)
    this.#tell(heard, { type: 'delta', item: heard.item, part, text, event })
  }

  /** The part of this kind and key, which is opened where it is not open, and whichever was open is closed. */
  openPart(heard: HeardItem, kind: PartKind, key: number | undefined, fields: Fields): SpokenPart {
    const { item, openPart } = heard
    if (openPart?.kind === kind && (key === undefined || key === openPart.key)) return openPart
    this.closePart(heard)
    const alike = item.parts.filter((part) => (part.kind === 'summary_text') === (kind === 'summary_text'))
    const part: SpokenPart = {
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
    heard.openPart = part
    this.#tell(heard, { type: 'part-start', item, part })
    return part
  }

  closePart(heard: HeardItem): void {
    const { item, openPart: part } = heard
    if (part === undefined) return
    heard.openPart = undefined
    part.ended ??= {}
    this.#tell(heard, { type: 'part-end', item, part })
  }

  annotate(heard: HeardItem, part: SpokenPart, event: Fields): void {
    const index = part.annotations.push(event.annotation) - 1
    this.#tell(heard, { type: 'annotation', item: heard.item, part, event, index })
  }

  /** The item is over. */
  end(heard: HeardItem, status: 'completed' | 'incomplete'): void {
    const { item } = heard
    if (heard.hasEnded) return
    // A call without arguments has them all the same: they are empty.
    if (isCall(item.kind) && item.parts.length === 0) {
      this.openPart(heard, item.kind === 'function_call' ? 'arguments' : 'input', undefined, {})
    }
    const { openPart } = heard
    if (openPart?.kind === 'arguments' && openPart.text === '' && status === 'completed' && this.#noArguments !== '') {
      this.say(heard, openPart, this.#noArguments, undefined)
    }
    this.closePart(heard)
    heard.hasEnded = true
    item.status = status
    this.#tell(heard, { type: 'item-end', item })
    this.#advance()
  }

  /** Everything that is still open is over. */
  endAll(status: 'completed' | 'incomplete'): void {
    // The last of an answer that was cut is the one that is not whole.
    const open = this.#waiting.filter(({ hasEnded }) => !hasEnded)
    for (const [at, heard] of open.entries()) this.end(heard, at === open.length - 1 ? status : 'completed')
  }

  /** What has become tellable since the last time. */
  take(): readonly ItemStep[] {
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

  #tell(heard: HeardItem, step: ItemStep): void {
    if (heard === this.#waiting[0] && heard.hasStarted) {
      push(this.#steps, step)
      return
    }
    push(heard.held, step)
    if (step.type !== 'delta') return
    const bytes = Buffer.byteLength(step.text)
    heard.heldBytes += bytes
    this.#counts.heldBytes += bytes
    this.#passBy(heard)
    this.#advance()
  }

  /** Where words come for a later item and the one before has said all that it began, its end will not come. */
  #passBy(heard: HeardItem): void {
    let [first] = this.#waiting
    while (first !== undefined && first !== heard && isIdle(first)) {
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
  { item, openPart }: HeardItem,
  kind: PartKind,
  key: number | undefined,
): SpokenPart | undefined =>
  openPart?.kind === kind && (key === undefined || openPart.key === key)
    ? openPart
    : item.parts.find((part) => part.kind === kind && (part.key === key || isCall(item.kind)))

/** Words that follow on words of the same part, with nothing said beside them, are told as one. */
function push(steps: ItemStep[], step: ItemStep): void {
  const last = steps[steps.length - 1]
  const goesOn =
    last?.type === 'delta' && step.type === 'delta' && last.part === step.part && !last.event && !step.event
  if (goesOn) steps[steps.length - 1] = { ...step, text: last.text + step.text }
  else steps.push(step)
}

/** All that it began is said: its parts have had their last words. */
const isIdle = ({ item, hasEnded }: HeardItem): boolean =>
  !hasEnded && item.parts.length > 0 && item.parts.every(({ ended }) => ended !== undefined)
