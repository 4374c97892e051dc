import { createLruMap } from '../lib/collections.ts'
import { inputTokensOf, type Usage } from '../model/price.ts'

/** What is seen of a provider's work on an answer without its counts. */
export interface SeenWork {
  /** Bytes of text, reasoning and calls. */
  readonly outputBytes: number
  /** Frames of a stream with some of them. */
  readonly contentFrames?: number
  /** Tool calls that have begun. */
  readonly calls?: number
  /** Of a stream: for how long nothing came. */
  readonly silentMs?: number
  /** Of a JSON answer: for how long the provider has worked on it. */
  readonly jsonAnswerMs?: number
  /** Whether the lane may hide reasoning. */
  readonly hiddenReasoning?: HiddenReasoning
}

/** `known`: the server is known to hide reasoning; `unknown`: it may or may not. */
export type HiddenReasoning = 'no' | 'known' | 'unknown'

interface EstimatedOutput {
  readonly output: number
  readonly reasoning: number
}

/** Estimates the tokens of an answer whose usage is missing, from its bytes and its time: learned from turns with the provider's own usage. */
export interface LaneEstimators {
  of(lane: string): LaneEstimator
}

/** More lanes than any configuration has; a forgotten lane is learned again. */
const LANES_MAX = 1000

export function createLaneEstimators(): LaneEstimators {
  const estimators = createLruMap<string, LaneEstimator>(LANES_MAX)
  return {
    of(lane) {
      const known = estimators.get(lane)
      if (known !== undefined) return known
      const estimator = new LaneEstimator()
      estimators.set(lane, estimator)
      return estimator
    },
  }
}

/** Average bytes of a frame that holds one token: with fewer it holds a character, with more several tokens. */
const TOKEN_BYTES_MIN = 2
const TOKEN_BYTES_MAX = 6.5
/** The tokens around the name and the arguments of a call: measured on several models. */
const TOKENS_PER_CALL = 12
/** The weight of the assumption about input, in tokens. */
const INPUT_EVIDENCE = 200
/** One turn counts for so many tokens of input at most, however large it is. */
const INPUT_EVIDENCE_MAX = INPUT_EVIDENCE * 20
/** The catalogue's ratio is right for short and long text. */
const ASSUMED_WORDS = [
  [20, 20],
  [1000, 1000],
] as const
/** Tokens and seconds of a server that hides reasoning: two seconds before the first token, then sixty tokens a second. */
const ASSUMED_SECONDS = [
  [120, 4],
  [1200, 22],
] as const
/** A faster answer came from a cache, or all at once. */
const SECONDS_MIN = 0.05
/** The beginnings and ends of messages and calls are a few tokens, however long the text. */
const AROUND_MAX = 30
/** A lane that hides reasoning less often counts as one that does not. */
const HIDES_FROM = 0.1
const HIDES_KEPT = 0.95
/** The time of a JSON answer is used only after so many. */
const JSON_ANSWERS_MIN = 5
/** The weight of earlier evidence when new evidence comes: the last fifty or so turns decide. */
const KEPT = 0.98
const USUAL_KEPT = 0.9
/** Bounds of what is learned: what a few clients make a model write must not make the estimates of others absurd. */
const FACTOR_MIN = 0.4
const FACTOR_MAX = 2.5

export class LaneEstimator {
  /** Counted tokens over estimated ones: estimated as one a frame, and from bytes. */
  readonly #frames = new FittedLine(ASSUMED_WORDS)
  readonly #bytes = new FittedLine(ASSUMED_WORDS)
  /** Tokens of input for each one by the catalogue's ratio. */
  inputFactor = 1
  /** Sums of the estimated and of the counted input. */
  #inputEstimate = INPUT_EVIDENCE
  #inputCounted = INPUT_EVIDENCE
  /** Seconds of silence over hidden tokens, and of JSON answers over all tokens. */
  readonly #silence = new FittedLine(ASSUMED_SECONDS)
  readonly #jsonTimes = new FittedLine(ASSUMED_SECONDS)
  /** The share of turns with hidden reasoning; undefined before the first. */
  #hides: number | undefined

  /** What was produced: text by its bytes, hidden reasoning and JSON answers by their time. */
  outputOf(work: SeenWork, bytesPerToken: number): EstimatedOutput {
    if (work.jsonAnswerMs !== undefined && work.outputBytes === 0) {
      if (this.#jsonTimes.points < JSON_ANSWERS_MIN) return { output: 0, reasoning: 0 }
      // A hanging provider produces nothing: at most twice the usual output is believed.
      const tokens = Math.min(this.#jsonTimes.tokensIn(work.jsonAnswerMs / 1000), 2 * this.#jsonTimes.usual)
      return { output: Math.round(tokens), reasoning: 0 }
    }
    const { silentMs, hiddenReasoning = 'no' } = work
    const mayHide =
      silentMs !== undefined &&
      hiddenReasoning !== 'no' &&
      (this.#hides ?? (hiddenReasoning === 'known' ? 1 : 0)) >= HIDES_FROM
    const reasoning = mayHide ? Math.round(this.#silence.tokensIn(silentMs / 1000)) : 0
    return { output: reasoning + this.contentTokens(work, bytesPerToken), reasoning }
  }

  contentTokens(work: SeenWork, bytesPerToken: number): number {
    const { visible, isTokenEach } = visibleTokensOf(work, bytesPerToken)
    const line = isTokenEach ? this.#frames : this.#bytes
    if (line.points === 0) return Math.ceil(visible)
    const { before, each } = line
    // The tokens around the text do not appear at once.
    const around = (Math.min(before, AROUND_MAX) * visible) / (visible + AROUND_MAX)
    return Math.ceil(visible * Math.min(Math.max(each, FACTOR_MIN), FACTOR_MAX) + around)
  }

  /** From a complete answer with the provider's own usage. `inputEstimate`: its input by the catalogue's ratio. */
  learn(work: SeenWork, usage: Usage, known: { readonly bytesPerToken: number; readonly inputEstimate: number }): void {
    const { visible, isTokenEach } = visibleTokensOf(work, known.bytesPerToken)
    // Some servers send all of their reasoning, some none, and both count it: it was hidden if what was sent is nearer to the
    // output without it than to all of it.
    const answer = Math.max(usage.output - usage.reasoning, 1)
    const hidden = visible * visible < answer * usage.output ? usage.reasoning : 0
    const line = isTokenEach ? this.#frames : this.#bytes
    line.learn(visible, usage.output - hidden)
    const { inputEstimate } = known
    const inputCounted = inputTokensOf(usage)
    if (inputEstimate > 0 && inputCounted > 0) {
      const weight = Math.min(1, INPUT_EVIDENCE_MAX / Math.max(inputEstimate, inputCounted))
      this.#inputEstimate = this.#inputEstimate * KEPT + inputEstimate * weight
      this.#inputCounted = this.#inputCounted * KEPT + inputCounted * weight
      this.inputFactor = Math.min(Math.max(this.#inputCounted / this.#inputEstimate, FACTOR_MIN), FACTOR_MAX)
    }
    if (work.jsonAnswerMs !== undefined)
      this.#jsonTimes.learn(usage.output, Math.max(work.jsonAnswerMs / 1000, SECONDS_MIN))
    if (work.silentMs === undefined || work.hiddenReasoning === 'no') return
    const hidesBefore = this.#hides ?? (work.hiddenReasoning === 'known' ? 1 : 0)
    this.#hides = hidesBefore * HIDES_KEPT + (hidden > 0 ? 1 - HIDES_KEPT : 0)
    if (hidden > 0) this.#silence.learn(hidden, Math.max(work.silentMs / 1000, SECONDS_MIN))
  }
}

/** One token a frame where frames have the length of tokens, else tokens from bytes by the catalogue's ratio. */
function visibleTokensOf(
  work: SeenWork,
  bytesPerToken: number,
): { readonly visible: number; readonly isTokenEach: boolean } {
  const { outputBytes, contentFrames = 0, calls = 0 } = work
  const isTokenEach =
    contentFrames > 0 &&
    outputBytes >= contentFrames * TOKEN_BYTES_MIN &&
    outputBytes <= contentFrames * TOKEN_BYTES_MAX
  return { visible: (isTokenEach ? contentFrames : outputBytes / bytesPerToken) + calls * TOKENS_PER_CALL, isTokenEach }
}

/**
 * A line y = before + each * x that is learned point by point, fitted so that errors are small in proportion. The points that are
 * assumed at first count as one turn each.
 */
class FittedLine {
  // Sums over the points of 1/y, x/y and their products.
  #one = 0
  #x = 0
  #oneOne = 0
  #oneX = 0
  #xx = 0
  /** The recent average of x. */
  usual = 0
  /** How many points were learned. */
  points = 0
  /** The fitted line. */
  before = 0
  each = 0

  constructor(assumed: readonly (readonly [x: number, y: number])[]) {
    for (const [x, y] of assumed) this.learn(x, y)
    this.points = 0
  }

  learn(x: number, y: number): void {
    if (!(x > 0 && y > 0)) return
    this.usual = this.points === 0 ? x : this.usual * USUAL_KEPT + x * (1 - USUAL_KEPT)
    this.points += 1
    const [one, share] = [1 / y, x / y]
    this.#one = this.#one * KEPT + one
    this.#x = this.#x * KEPT + share
    this.#oneOne = this.#oneOne * KEPT + one * one
    this.#oneX = this.#oneX * KEPT + one * share
    this.#xx = this.#xx * KEPT + share * share
    const determinant = this.#oneOne * this.#xx - this.#oneX ** 2
    this.before = (this.#one * this.#xx - this.#x * this.#oneX) / determinant
    this.each = (this.#x * this.#oneOne - this.#one * this.#oneX) / determinant
    if (this.before >= 0 && this.each > 0 && Number.isFinite(this.before + this.each)) return
    this.before = 0
    this.each = this.#x / this.#xx
  }

  /** The tokens for the seconds beyond those before the first token. */
  tokensIn(seconds: number): number {
    return Math.max(0, (seconds - this.before) / this.each)
  }
}
