import { ArrowLeftRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { Empty } from '../../../ui/Empty.tsx'
import { useHeldRows } from '../../../ui/useHeldRows.ts'
import type { RequestItem } from '../request-facts.tsx'
import { inOpeningOrder } from './merge-requests.ts'
import { type RequestColumn, RequestTable } from './RequestTable.tsx'

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
