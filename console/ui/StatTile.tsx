import type { ReactNode } from 'react'

interface StatTileProps {
  readonly label: string
  readonly value: ReactNode
  /** A line below: what it is made of, or since when. */
  readonly note?: ReactNode
  readonly children?: ReactNode
}

/** One number that matters, with its name above and its circumstances below. */
export const StatTile = ({ label, value, note, children }: StatTileProps) => (
  <div className="grid min-w-0 grid-cols-1 content-start gap-1 rounded-xl border border-line bg-surface p-4">
    <div className="text-sm text-soft">{label}</div>
    <div className="figures text-lg leading-tight sm:text-2xl font-semibold tracking-tight">{value}</div>
    {note !== undefined && <div className="figures text-xs text-faint">{note}</div>}
    {children}
  </div>
)
