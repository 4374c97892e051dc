import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ArrowLeftRight, ArrowUp, Pause, Play, SearchX } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { useLetterKey } from '../../lib/letter-keys.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { itemsOf } from '../../queries/query.ts'
import { type RequestFilter, useNewestRequests, useRequestPages } from '../../queries/requests.ts'
import { useMay } from '../../queries/session.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Form } from '../../ui/Form.tsx'
import { SearchInput } from '../../ui/inputs.tsx'
import { Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { READ, useHeldRows } from '../../ui/useHeldRows.ts'
import { mergeRequests } from './merge-requests.ts'
import { isFiltered, queryOfFilter, RequestFilters, readRequestFilter } from './RequestFilters.tsx'
import { RequestTable } from './RequestTable.tsx'

export function RequestsPage() {
  const { shell, requests } = useMessages()
  const filter = readRequestFilter(useSearch({ strict: false }))
  const navigate = useNavigate()
  const [text, setText] = useState('')
  const [following, setFollowing] = useState(true)
  const { zone } = useFormats()
  const { pages, shown, waiting, takeIn, reading } = useLiveRequests(queryOfFilter(filter, zone), following)
  const found = shown.filter(({ id }) => id.toLowerCase().includes(text.trim().toLowerCase()))
  const change = (changed: Partial<Record<keyof RequestFilter, string>>) =>
    void navigate({ to: '/requests', search: givenOnly({ ...filter, ...changed }), replace: true })

  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.requests}
        about={requests.about}
        actions={<RunsLink run={filter.tag === undefined ? undefined : /^run:(.+)/.exec(filter.tag)?.[1]} />}
      />
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
                <RequestTable caption={shell.pageTitles.requests} rows={found} />
              )
            }
          </QueryView>
        </div>
        <ShowMore query={pages} />
      </Panel>
    </Page>
  )
}

/** To the run that the list is filtered by, or to all of them. */
function RunsLink({ run }: { run: string | undefined }) {
  const { requests } = useMessages()
  return run === undefined ? (
    <Link to="/runs" className={buttonClass()}>
      {requests.runs}
    </Link>
  ) : (
    <Link to="/runs/$run" params={{ run }} className={buttonClass()}>
      {requests.openRun}
    </Link>
  )
}

/** Updates rows in place and adds new rows when the user is not reading. */
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

const givenOnly = (search: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(search).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ''),
  )

interface FindRequestProps {
  readonly text: string
  readonly onText: (text: string) => void
  /** The only visible match, if there is exactly one. */
  readonly only: string | undefined
}

/** Filters the visible requests while typing. Enter opens the only match, or the request with the complete id. */
function FindRequest({ text, onText, only }: FindRequestProps) {
  const { requests } = useMessages()
  const navigate = useNavigate()
  const open = () => {
    const request = only ?? (isWholeId(text) ? text.trim() : undefined)
    if (request !== undefined) void navigate({ to: '/requests/$request', params: { request } })
  }
  return (
    <search className="w-full sm:w-56">
      <Form className="" onSend={open}>
        <SearchInput
          label={requests.findLabel}
          value={text}
          onText={onText}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            onText('')
            event.currentTarget.blur()
          }}
        />
      </Form>
    </search>
  )
}

const isWholeId = (text: string): boolean => /^req_\w{8,}$/.test(text.trim())

function NoRequests({ filtered, text }: { filtered: boolean; text: string }) {
  const { empty, clear } = useMessages().requests
  const may = useMay()
  const request = text.trim()
  if (request !== '') {
    return (
      <Empty
        icon={SearchX}
        title={empty.notFoundTitle}
        text={empty.notFoundText}
        {...(isWholeId(request) && {
          action: (
            <Link to="/requests/$request" params={{ request }} className={buttonClass('primary')}>
              {empty.open(request)}
            </Link>
          ),
        })}
      />
    )
  }
  return filtered ? (
    <Empty
      icon={SearchX}
      title={empty.filteredTitle}
      text={empty.filteredText}
      action={
        <Link to="/requests" search={{}} className={buttonClass('plain')}>
          {clear}
        </Link>
      }
    />
  ) : (
    <Empty
      icon={ArrowLeftRight}
      title={empty.title}
      text={empty.text}
      action={
        may('member') && (
          <Link to="/connect" className={buttonClass('primary')}>
            {empty.action}
          </Link>
        )
      }
    />
  )
}

interface FollowBarProps {
  readonly following: boolean
  readonly waiting: number
  readonly onFollow: (following: boolean) => void
  readonly onTakeIn: () => void
}

/** The live switch and the number of new rows. Its height is fixed so that nothing jumps. */
function FollowBar({ following, waiting, onFollow, onTakeIn }: FollowBarProps) {
  const { requests } = useMessages()
  const formats = useFormats()
  const follow = useRef<HTMLButtonElement>(null)
  const toggle = () => onFollow(!following)
  const label = following ? requests.pause : requests.follow
  useLetterKey('f', label, toggle)
  // The button disappears when pressed, so the focus moves to its neighbour.
  const takeIn = () => {
    follow.current?.focus()
    onTakeIn()
  }
  const Icon = following ? Pause : Play
  return (
    <div className="flex min-h-12 items-center justify-between gap-3 border-b border-line px-4">
      <span className="flex items-center gap-2 text-sm text-soft">
        <span
          aria-hidden="true"
          className={following ? 'breathe size-2 rounded-full bg-good' : 'size-2 rounded-full bg-edge'}
        />
        {following ? requests.live : requests.paused}
        <Button ref={follow} tone="quiet" onClick={toggle}>
          <Icon aria-hidden="true" />
          {label}
        </Button>
      </span>
      {/* Next to the rows in tab order, so that the focus reaches it without leaving the rows. */}
      {waiting > 0 && (
        <Button {...READ} onClick={takeIn}>
          <ArrowUp aria-hidden="true" />
          {formats.plural(waiting, requests.fresh)}
        </Button>
      )}
    </div>
  )
}
