import { useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { givenOnly } from '../../lib/given-only.ts'
import type { RequestFilter } from '../../questions/useRequestPages.ts'
import { Page } from '../../ui/Page.tsx'
import { PageHeader } from '../../ui/PageHeader.tsx'
import { Answer, Panel } from '../../ui/Panel.tsx'
import { ShowMore } from '../../ui/ShowMore.tsx'
import { useWords } from '../../words/WordsProvider.tsx'
import { FindRequest } from './FindRequest.tsx'
import { FollowBar } from './FollowBar.tsx'
import { NoRequests } from './NoRequests.tsx'
import { RequestFilters } from './RequestFilters.tsx'
import { RequestTable } from './RequestTable.tsx'
import { isFiltered, readRequestFilter } from './request-filter.ts'
import { useLiveRequests } from './useLiveRequests.ts'

/** Requests as they come: those that run with their hold, those that have ended with what they cost. */
export function RequestsPage() {
  const { shell, requests } = useWords()
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
          <Answer question={pages} lines={8}>
            {() =>
              found.length === 0 ? (
                <NoRequests filtered={isFiltered(filter)} text={text} />
              ) : (
                <RequestTable caption={shell.areas.requests} rows={found} />
              )
            }
          </Answer>
        </div>
        <ShowMore question={pages} />
      </Panel>
    </Page>
  )
}
