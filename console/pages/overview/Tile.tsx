import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

interface TileProps {
  readonly to: '/wallet' | '/usage' | '/requests' | '/keys'
  readonly search?: Readonly<Record<string, string>>
  readonly className?: string
  readonly children: ReactNode
}

/** One number that leads to the page that explains it. */
export const Tile = ({ to, search = {}, className = '', children }: TileProps) => (
  <Link
    to={to}
    search={search}
    className={`grid min-w-0 rounded-xl transition-shadow hover:ring-1 hover:ring-edge ${className}`}
  >
    {children}
  </Link>
)
