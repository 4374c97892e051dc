import type { ReactNode } from 'react'

/** Two things in one cell: what is looked for, and below it (on a telephone behind it), smaller, what goes with it. */
export const Stacked = ({ top, below }: { top: ReactNode; below?: ReactNode }) => (
  <div className="grid min-w-0 leading-snug max-md:flex max-md:flex-wrap max-md:items-baseline max-md:gap-x-2 [dd_&]:justify-end">
    <span className="min-w-0 truncate">{top}</span>
    {below !== undefined && <span className="min-w-0 truncate text-xs text-faint">{below}</span>}
  </div>
)
