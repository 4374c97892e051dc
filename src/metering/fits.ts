/** Of what was learned before, so much still counts when something new comes: the last fifty or so decide. */
const KEPT = 0.98

/**
 * How much more or less something is than it was taken for. `evidence` is how much of it has to be seen before what is seen
 * counts for more than the assumption that it is as much.
 */
export class Ratio {
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

export const withinReason = (factor: number): number => Math.min(Math.max(factor, FACTOR_MIN), FACTOR_MAX)

const FACTOR_MIN = 0.4
const FACTOR_MAX = 2.5

/** What is assumed at first, as points that the line goes through; each of them counts as one turn. */
type Points = readonly (readonly [x: number, y: number])[]

/**
 * A line y = before + each * x that is learned point by point. Fitted so that the errors are small in proportion, for short
 * answers as for long ones.
 */
export class Line {
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

export interface Fit {
  readonly before: number
  readonly each: number
}

const USUAL_KEPT = 0.9
