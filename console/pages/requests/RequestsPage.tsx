import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { itemsOf } from '../../queries/query.ts'
import { type RequestFilter, useNewestRequests, useRequestPages } from '../../queries/requests.ts'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Page, PageHeader } from '../../ui/Page.tsx'
import { Panel } from '../../ui/Panel.tsx'
import { useHeldRows } from '../../ui/useHeldRows.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { FindRequest, NoRequests } from './list/FindRequest.tsx'
import { FollowBar } from './list/FollowBar.tsx'
import { mergeRequests } from './list/merge-requests.ts'
import { isFiltered, RequestFilters, readRequestFilter } from './list/RequestFilters.tsx'
import { RequestTable } from './list/RequestTable.tsx'

/** Requests as they come: those that run with their hold, those that have ended with what they cost. */
export function RequestsPage() {
  const { shell, requests } = useMessages()
  const filter = readRequestFilter(useSearch({ strict: false }))
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [following, setFollowing] = useState(true)
  const { pages, shown, waiting, takeIn, reading } = useLiveRequests(filter, following)
  const found = shown.filter(({ id }) => id.toLowerCase().includes(text.trim().toLowerCase()))
  const change = (changed: Partial<Record<keyof RequestFilter, string>>) =>
    void navigate({ to: '/requests', search: givenOnly({ ...filter, ...changed }), replace: true })

  return (
    <Page>
      <PageHeader title={shell.areas.requests} about={requests.about} />
      <div className="flex flex-wrap items-center gap-2">
        <FindRequest text={text} onText={setText} only={found.length === 1 ? found[0]?.id : undefined} />
        <RequestFilters filter={filter} onChange={change} />
      </div>
      <Panel padding="flush">
        <div {...reading}>
          <FollowBar following={following} waiting={waiting} onFollow={setFollowing} onTakeIn={takeIn} />
          <QueryView query={pages} lines={8}>
            {() =>
              found.length === 0 ? (
                <NoRequests filtered={isFiltered(filter)} text={text} />
              ) : (
                <RequestTable caption={shell.areas.requests} rows={found} />
              )
            }
          </QueryView>
        </div>
        <ShowMore query={pages} />
      </Panel>
    </Page>
  )
}

/** A list that is live: changes come in place, and new rows as soon as that disturbs nobody. */
function useLiveRequests(filter: RequestFilter, following: boolean) {
  const pages = useRequestPages(filter, following)
  const newest = useNewestRequests(filter, following)
  const { rows, gap } = mergeRequests(newest.data, itemsOf(pages.data))
  const { refetch } = pages
  const isLoaded = pages.data !== undefined && !pages.isFetching
  useEffect(() => {
    if (gap && isLoaded) void refetch()
  }, [gap, isLoaded, refetch])
  return { pages, ...useHeldRows(rows, { idOf: ({ id }) => id, scrolling: 'counts' }) }
}

/** What of it is there: an empty text in an address says as little as none. */
const givenOnly = (search: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(search).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  )
