import { ArrowLeftRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { inOpeningOrder } from '../../lib/in-opening-order.ts'
import { Empty } from '../../ui/Empty.tsx'
import { useHeldRows } from '../../ui/useHeldRows.ts'
import { RequestTable } from './RequestTable.tsx'
import type { RequestItem } from './useOutcome.ts'
import type { RequestColumn } from './useRequestColumns.tsx'

interface LatestRequestsProps {
  readonly caption: string
  readonly requests: readonly RequestItem[]
  readonly without?: readonly RequestColumn[]
  readonly none: { readonly title: string; readonly text?: string; readonly action?: ReactNode }
}

/** The last few requests, as they come in. */
export function LatestRequests({ caption, requests, none, ...rest }: LatestRequestsProps) {
  // As they began: told as they run and end, they would change places, and new ones come in between.
  const { shown, reading } = useHeldRows(inOpeningOrder(requests), { idOf: ({ id }) => id })
  if (requests.length === 0) return <Empty icon={ArrowLeftRight} {...none} />
  return (
    <div {...reading}>
      <RequestTable caption={caption} rows={shown} {...rest} />
    </div>
  )
}
