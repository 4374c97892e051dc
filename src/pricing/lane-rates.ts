import { createLruMap } from '../lib/lru-map.ts'
import type { Usage } from '../model/price.ts'

/** What is seen of a provider's work on an answer without its counts. */
export interface SeenWork {
  /** Bytes of text, reasoning and calls. */
  readonly outputBytes: number
  /** Frames of a stream that have brought some of them. */
  readonly wordFrames?: number
  /** Tool calls that have begun. */
  readonly calls?: number
  /** Of an answer that streams: how long nothing came of it. */
  readonly silentMs?: number
  /** Of an answer in one piece: how long it has been made. */
  readonly wholeMs?: number
  /** Whether it may reason unseen: not at all, or its server is known to, or nothing is known of it. */
  readonly hiding?: Hiding
}

export type Hiding = 'no' | 'known' | 'unknown'

interface EstimatedOutput {
  readonly output: number
  readonly reasoning: number
}

/** How fast the lanes answer, and how many tokens their words are: learned from turns whose true usage was told. */
export interface LaneRates {
  of(lane: string): LaneRate
}

/** More lanes than any configuration has; of one that was forgotten it is learned anew. */
const LANES_MAX = 1000

export function createLaneRates(): LaneRates {
  const rates = createLruMap<string, LaneRate>(LANES_MAX)
  return {
    of(lane) {
      const known = rates.get(lane)
      if (known !== undefined) return known
      const rate = new LaneRate()
      rates.set(lane, rate)
      return rate
    },
  }
}

/** On average over an answer. Frames with fewer bytes are characters, and with more they hold several tokens. */
const TOKEN_BYTES_MIN = 2
const TOKEN_BYTES_MAX = 6.5
/** What a call takes around its name and its arguments, whatever the model: measured on several. */
const TOKENS_PER_CALL = 12
/** Tokens after which what was learned of the input counts for more than what was assumed. */
const EVIDENCE_OF_INPUT = 200
/** The catalogue is right about words, short and long. */
const ASSUMED_WORDS = [
  [20, 20],
  [1000, 1000],
] as const
/** Seconds for tokens, of a server that reasons unseen: two before the first, and sixty tokens a second. */
const ASSUMED_SECONDS = [
  [120, 4],
  [1200, 22],
] as const
/** Nobody is faster: it came from a cache, or all at once. */
const SECONDS_MIN = 0.05
/** The beginnings and ends of messages and calls are a few tokens, however long the words. */
const AROUND_MAX = 30
/** A lane that reasons unseen less often than this is taken for one that does not. */
const HIDES_FROM = 0.1
const HIDES_KEPT = 0.95
/** An answer in one piece is judged by its time only when so many have shown how long they take. */
const WHOLES_MIN = 5

export class LaneRate {
  /** Tokens over what the words are taken for: where each frame is taken for one, and where they are taken from their bytes. */
  readonly #frames = new Line(ASSUMED_WORDS)
  readonly #bytes = new Line(ASSUMED_WORDS)
  readonly #input = new Ratio(EVIDENCE_OF_INPUT)
  /** Seconds without words over hidden tokens, and of answers in one piece over all tokens. */
  readonly #silence = new Line(ASSUMED_SECONDS)
  readonly #wholes = new Line(ASSUMED_SECONDS)
  /** The share of turns with hidden reasoning; undefined while none is known. */
  #hides: number | undefined

  /** What an input of so many tokens by the catalogue's ratio is here. */
  inputTokens(taken: number): number {
    return Math.ceil(taken * this.#input.factor)
  }

  /** What was produced: words by their bytes, hidden reasoning and answers in one piece by their time. */
  outputOf(work: SeenWork, bytesPerToken: number): EstimatedOutput {
    if (work.wholeMs !== undefined && work.outputBytes === 0) {
      return { output: this.#tokensOfWhole(work.wholeMs / 1000), reasoning: 0 }
    }
    const reasoning = this.#hiddenIn(work)
    return { output: reasoning + this.wordTokens(work, bytesPerToken), reasoning }
  }

  wordTokens(work: SeenWork, bytesPerToken: number): number {
    const taken = takenFor(work, bytesPerToken)
    const words = this.#wordsOf(work)
    if (words.points === 0) return Math.ceil(taken)
    const { before, each } = words.fit
    // What stands around the words is not there at once.
    const around = (Math.min(before, AROUND_MAX) * taken) / (taken + AROUND_MAX)
    return Math.ceil(taken * withinReason(each) + around)
  }

  /** From a whole answer, and what its provider has truly counted. `inputTaken`: its input by the catalogue's ratio. */
  learn(work: SeenWork, usage: Usage, known: { readonly bytesPerToken: number; readonly inputTaken: number }): void {
    const words = takenFor(work, known.bytesPerToken)
    const hidden = hiddenOf(usage, words)
    this.#wordsOf(work).learn(words, usage.output - hidden)
    this.#input.learn(known.inputTaken, usage.uncachedInput + usage.cachedInput + usage.cacheWrite)
    if (work.wholeMs !== undefined) this.#wholes.learn(usage.output, secondsOf(work.wholeMs))
    if (work.silentMs === undefined || work.hiding === 'no') return
    const before = this.#hides ?? (work.hiding === 'known' ? 1 : 0)
    this.#hides = before * HIDES_KEPT + (hidden > 0 ? 1 - HIDES_KEPT : 0)
    if (hidden > 0) this.#silence.learn(hidden, secondsOf(work.silentMs))
  }

  #wordsOf(work: SeenWork): Line {
    return isTokenEach(work) ? this.#frames : this.#bytes
  }

  #hiddenIn({ silentMs, hiding = 'no' }: SeenWork): number {
    if (silentMs === undefined || hiding === 'no') return 0
    if ((this.#hides ?? (hiding === 'known' ? 1 : 0)) < HIDES_FROM) return 0
    return Math.round(tokensIn(this.#silence.fit, silentMs / 1000))
  }

  /** A provider that hangs makes nothing: twice what is usual is the most that is believed. */
  #tokensOfWhole(seconds: number): number {
    if (this.#wholes.points < WHOLES_MIN) return 0
    return Math.round(Math.min(tokensIn(this.#wholes.fit, seconds), 2 * this.#wholes.usual))
  }
}

const secondsOf = (ms: number): number => Math.max(ms / 1000, SECONDS_MIN)

/** As far as these seconds are more than those before the first token. */
const tokensIn = ({ before, each }: Fit, seconds: number): number => Math.max(0, (seconds - before) / each)

/** Where the frames are as long as tokens are, each is one; else their tokens are taken from their bytes by the catalogue's ratio. */
function takenFor(work: SeenWork, bytesPerToken: number): number {
  const { outputBytes, wordFrames = 0, calls = 0 } = work
  return (isTokenEach(work) ? wordFrames : outputBytes / bytesPerToken) + calls * TOKENS_PER_CALL
}

const isTokenEach = ({ outputBytes, wordFrames = 0 }: SeenWork): boolean =>
  wordFrames > 0 && outputBytes >= wordFrames * TOKEN_BYTES_MIN && outputBytes <= wordFrames * TOKEN_BYTES_MAX

/**
 * How much of the reasoning was not among the words. Some servers send all of it, some send none, and both count it: it
 * was hidden where the words are nearer to the output without it than to all of it.
 */
function hiddenOf({ output, reasoning }: Usage, words: number): number {
  if (reasoning === 0) return 0
  const answer = Math.max(output - reasoning, 1)
  return words * words < answer * output ? reasoning : 0
}

/** Of what was learned before, so much still counts when something new comes: the last fifty or so decide. */
const KEPT = 0.98

/**
 * How much more or less something is than it was taken for. `evidence` is how much of it has to be seen before what is seen
 * counts for more than the assumption that it is as much.
 */
class Ratio {
  #taken: number
  #true: number
  readonly #most: number

  constructor(evidence: number) {
    this.#taken = evidence
    this.#true = evidence
    this.#most = evidence * 20
  }

  /** One turn counts for so many tokens at most, however large it is; what it can do at first is bounded by `withinReason`. */
  learn(taken: number, actual: number): void {
    if (!(taken > 0 && actual > 0)) return
    const weight = Math.min(1, this.#most / Math.max(taken, actual))
    this.#taken = this.#taken * KEPT + taken * weight
    this.#true = this.#true * KEPT + actual * weight
  }

  /** Bounded: what a few clients make a model say must not make the estimates of others absurd. */
  get factor(): number {
    return withinReason(this.#true / this.#taken)
  }
}

const withinReason = (factor: number): number => Math.min(Math.max(factor, FACTOR_MIN), FACTOR_MAX)

const FACTOR_MIN = 0.4
const FACTOR_MAX = 2.5

/** What is assumed at first, as points that the line goes through; each of them counts as one turn. */
type Points = readonly (readonly [x: number, y: number])[]

/**
 * A line y = before + each * x that is learned point by point. Fitted so that the errors are small in proportion, for short
 * answers as for long ones.
 */
class Line {
  // Sums over the points of 1/y, x/y and their products.
  #one = 0
  #x = 0
  #oneOne = 0
  #oneX = 0
  #xx = 0
  /** x on average, lately. */
  #usual = 0
  /** How many points were learned. */
  points = 0

  constructor(assumed: Points) {
    for (const [x, y] of assumed) this.#add(x, y)
  }

  learn(x: number, y: number): void {
    if (!(x > 0 && y > 0)) return
    this.#usual = this.points === 0 ? x : this.#usual * USUAL_KEPT + x * (1 - USUAL_KEPT)
    this.points += 1
    this.#add(x, y)
  }

  get usual(): number {
    return this.#usual
  }

  get fit(): Fit {
    const determinant = this.#oneOne * this.#xx - this.#oneX ** 2
    const before = (this.#one * this.#xx - this.#x * this.#oneX) / determinant
    const each = (this.#x * this.#oneOne - this.#one * this.#oneX) / determinant
    if (before >= 0 && each > 0 && Number.isFinite(before + each)) return { before, each }
    return { before: 0, each: this.#x / this.#xx }
  }

  #add(x: number, y: number): void {
    const [one, share] = [1 / y, x / y]
    this.#one = this.#one * KEPT + one
    this.#x = this.#x * KEPT + share
    this.#oneOne = this.#oneOne * KEPT + one * one
    this.#oneX = this.#oneX * KEPT + one * share
    this.#xx = this.#xx * KEPT + share * share
  }
}

interface Fit {
  readonly before: number
  readonly each: number
}

const USUAL_KEPT = 0.9
