import type { ReactNode } from 'react'

/** The parts of a page below each other. */
export const Page = ({ children }: { children: ReactNode }) => (
  <div className="grid grid-cols-1 content-start gap-5">{children}</div>
)
