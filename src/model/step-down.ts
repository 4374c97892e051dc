/** The cheaper model that is used near a cap. */
export interface StepDown {
  /** The id of a model, or of one with its effort. */
  readonly to: string
  /** Also where less than this share of a cap, a run or a window is left. 0: only where the money does not cover the request. */
  readonly below_percent: number
}

/** As stored: equal rules are equal texts. */
export const writeStepDown = (rule: StepDown | null): string | null =>
  rule && JSON.stringify({ to: rule.to, below_percent: rule.below_percent })

export const parseStepDown = (stored: string | null): StepDown | null =>
  stored === null ? null : (JSON.parse(stored) as StepDown)

/** On a command line and in a table: `fast-coder`, or `fast-coder 10%`. */
export const stepDownText = ({ to, below_percent }: StepDown): string =>
  below_percent === 0 ? to : `${to} ${below_percent}%`

/** The reverse. A share that cannot be read becomes part of the name, which no model has. */
export function readStepDownText(text: string): StepDown {
  const [, to = text.trim(), percent = '0'] = /^(\S+) +(\d{1,3})%$/.exec(text.trim()) ?? []
  return { to, below_percent: Number(percent) }
}
