import type { ReactNode } from 'react'
import { cx } from '../lib/cx.ts'

export type BadgeTone = 'plain' | 'accent' | 'good' | 'held' | 'bad'

const TONES: Readonly<Record<BadgeTone, string>> = {
  plain: 'bg-sunken text-soft',
  accent: 'bg-accent-wash text-accent',
  good: 'bg-good-wash text-good',
  held: 'bg-held-wash text-held',
  bad: 'bg-bad-wash text-bad',
}

/** A state in a word. Colour only repeats what the word says. */
export const Badge = ({ tone = 'plain', children }: { tone?: BadgeTone; children: ReactNode }) => (
  <span
    className={cx(
      'inline-flex items-center gap-1 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
      TONES[tone],
    )}
  >
    {children}
  </span>
)
