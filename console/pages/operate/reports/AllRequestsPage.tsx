import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, SearchX, X } from 'lucide-react'
import { useState } from 'react'
import type { QueryOf } from '../../../../src/contract/console-api.ts'
import { addDays, isDay } from '../../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import { useDownload } from '../../../queries/mutations.ts'
import { itemsOf } from '../../../queries/query.ts'
import { useAllRequests } from '../../../queries/reports.ts'
import { Button } from '../../../ui/Button.tsx'
import { Field, Form } from '../../../ui/Form.tsx'
import { choicesOf, Select, TextInput } from '../../../ui/inputs.tsx'
import { Empty, Page, PageHeader, Panel } from '../../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../../ui/QueryView.tsx'
import { OperatedRequests } from './OperatedRequests.tsx'

/** Requests of all accounts. The filters are part of the address and apply to the file too. */
export function AllRequestsPage() {
  const { shell, reports } = useMessages()
  const { zone } = useFormats()
  const navigate = useNavigate()
  const filters = readFilters(useSearch({ strict: false }))
  const asked = queryOf(filters, zone)
  const query = useAllRequests(asked)
  const download = useDownload('GET /operate/requests.csv')
  const change = (next: Filters) => void navigate({ to: '/operate/requests', search: next, replace: true })
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.findRequest}
        about={reports.all.about}
        actions={
          <Button busy={download.isPending} onClick={() => download.mutate(asked)}>
            <Download aria-hidden="true" />
            {reports.csv}
          </Button>
        }
      />
      <FilterForm key={JSON.stringify(filters)} filters={filters} onChange={change} />
      <Panel padding="flush">
        <QueryView query={query} lines={8}>
          {(data) => {
            const rows = itemsOf(data)
            if (rows.length > 0) return <OperatedRequests caption={shell.pageTitles.findRequest} rows={rows} />
            const { nothing, nothingText, searching, searchingText, noneYet, noneYetText } = reports.all
            if (Object.keys(filters).length === 0) return <Empty icon={SearchX} title={noneYet} text={noneYetText} />
            return query.hasNextPage ? (
              <Empty icon={SearchX} title={searching} text={searchingText} />
            ) : (
              <Empty icon={SearchX} title={nothing} text={nothingText} />
            )
          }}
        </QueryView>
        <ShowMore query={query} />
      </Panel>
    </Page>
  )
}

const TEXTS = ['id', 'account', 'key', 'model', 'lane'] as const
const STATUSES = ['ok', 'not_ok', 'running'] as const

type Filters = { readonly [Name in (typeof TEXTS)[number] | 'from' | 'through' | 'charge']?: string } & {
  readonly status?: (typeof STATUSES)[number]
}

/** Ignores values in the address that are not valid. */
function readFilters(search: Readonly<Record<string, string | undefined>>): Filters {
  const texts = TEXTS.flatMap((name) => (search[name] ? [[name, search[name]] as const] : []))
  const status = STATUSES.find((each) => each === search.status)
  return {
    ...Object.fromEntries(texts),
    ...(status !== undefined && { status }),
    ...(isDay(search.from) && { from: search.from }),
    ...(isDay(search.through) && { through: search.through }),
    ...(search.charge && /^\d{1,9}(\.\d{1,9})?$/.test(search.charge) && { charge: search.charge }),
  }
}

const queryOf = ({ from, through, charge, ...same }: Filters, zone: string): QueryOf<'GET /operate/requests.csv'> => ({
  ...same,
  ...(from !== undefined && { from }),
  ...(through !== undefined && { to: addDays(through, 1) }),
  ...((from !== undefined || through !== undefined) && { zone }),
  ...(charge !== undefined && { min_charge: charge }),
})

interface FilterFormProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
}

/** Searches when it is sent, so that no half-typed id is searched for. */
function FilterForm({ filters, onChange }: FilterFormProps) {
  const { reports } = useMessages()
  const { all } = reports
  const [draft, setDraft] = useState<Readonly<Record<string, string>>>({ ...filters })
  const change = (name: string, value: string) => setDraft({ ...draft, [name]: value.trim() })
  const field = (name: string, label: string, type: 'text' | 'date' = 'text') => (
    <Field key={name} label={label}>
      {(control) => (
        <TextInput
          {...control}
          type={type}
          spellCheck={false}
          value={draft[name] ?? ''}
          onChange={(event) => change(name, event.target.value)}
        />
      )}
    </Field>
  )
  return (
    <Panel>
      <Form
        className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2 lg:grid-cols-5"
        onSend={() => onChange(readFilters(draft))}
      >
        {TEXTS.map((name) => field(name, all[name]))}
        <Field label={all.status}>
          {(control) => (
            <Select
              {...control}
              value={draft.status ?? 'any'}
              options={choicesOf(['any', ...STATUSES], all.statuses)}
              onPick={(status) => change('status', status === 'any' ? '' : status)}
            />
          )}
        </Field>
        {field('from', reports.from, 'date')}
        {field('through', reports.through, 'date')}
        {field('charge', all.charge)}
        <div className="flex gap-2">
          <Button tone="primary" type="submit" className="min-h-9">
            {all.apply}
          </Button>
          {Object.keys(filters).length > 0 && (
            <Button tone="quiet" className="min-h-9" onClick={() => onChange({})}>
              <X aria-hidden="true" />
              {reports.clear}
            </Button>
          )}
        </div>
      </Form>
    </Panel>
  )
}
