import { useNavigate, useSearch } from '@tanstack/react-router'
import { Download, X } from 'lucide-react'
import { useState } from 'react'
import type { QueryOf } from '../../../src/contract/console-api.ts'
import { addDays, isDay } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useAudit } from '../../queries/account.ts'
import { useDownload } from '../../queries/mutations.ts'
import { useOperatorAudit } from '../../queries/operate.ts'
import { Button } from '../../ui/Button.tsx'
import { Field, Form } from '../../ui/Form.tsx'
import { Select, TextInput } from '../../ui/inputs.tsx'
import { Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { AuditPanel } from './AuditPanel.tsx'

export function AuditPage() {
  const { shell, audit } = useMessages()
  const query = useAudit()
  return (
    <Page>
      <PageHeader title={shell.pageTitles.audit} about={audit.about} />
      <AuditPanel query={query} of="own" />
    </Page>
  )
}

export function OperatorAuditPage() {
  const { shell, audit } = useMessages()
  const { zone } = useFormats()
  const navigate = useNavigate()
  const filters = readFilters(useSearch({ strict: false }))
  const asked = queryOf(filters, zone)
  const query = useOperatorAudit(asked)
  const download = useDownload('GET /operate/audit.csv')
  return (
    <Page>
      <PageHeader
        title={shell.pageTitles.auditAll}
        about={audit.aboutAll}
        actions={
          <Button busy={download.isPending} onClick={() => download.mutate(asked)}>
            <Download aria-hidden="true" />
            {audit.csv}
          </Button>
        }
      />
      <FilterForm
        key={JSON.stringify(filters)}
        filters={filters}
        onChange={(search) => void navigate({ to: '/operate/audit', search, replace: true })}
      />
      <AuditPanel query={query} of="all" />
    </Page>
  )
}

type Filters = { readonly [Name in 'actor' | 'action' | 'target' | 'from' | 'through']?: string }

/** Ignores values in the address that are not valid. */
function readFilters({ actor, action, target, from, through }: Filters): Filters {
  return {
    ...(actor && { actor }),
    ...(action && { action }),
    ...(target && { target }),
    ...(isDay(from) && { from }),
    ...(isDay(through) && { through }),
  }
}

const queryOf = ({ from, through, ...same }: Filters, zone: string): QueryOf<'GET /operate/audit.csv'> => ({
  ...same,
  ...(from !== undefined && { from }),
  ...(through !== undefined && { to: addDays(through, 1) }),
  ...((from !== undefined || through !== undefined) && { zone }),
})

interface FilterFormProps {
  readonly filters: Filters
  readonly onChange: (filters: Filters) => void
}

/** Searches when it is sent. */
function FilterForm({ filters, onChange }: FilterFormProps) {
  const { audit } = useMessages()
  const [draft, setDraft] = useState<Filters>(filters)
  const change = (name: keyof Filters, value: string) => setDraft({ ...draft, [name]: value.trim() })
  const field = (name: keyof Filters, type: 'text' | 'date') => (
    <Field label={audit.filters[name]}>
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
  const actions = Object.entries(audit.actions).map(([value, label]) => ({ value, label }))
  return (
    <Panel>
      <Form
        className="grid grid-cols-1 items-end gap-3 sm:grid-cols-2 lg:grid-cols-6"
        onSend={() => onChange(readFilters(draft))}
      >
        {field('actor', 'text')}
        <Field label={audit.filters.action}>
          {(control) => (
            <Select
              {...control}
              value={draft.action ?? ''}
              options={[{ value: '', label: audit.anyAction }, ...actions]}
              onPick={(action) => change('action', action)}
            />
          )}
        </Field>
        {field('target', 'text')}
        {field('from', 'date')}
        {field('through', 'date')}
        <div className="flex gap-2">
          <Button tone="primary" type="submit" className="min-h-9">
            {audit.apply}
          </Button>
          {Object.keys(filters).length > 0 && (
            <Button tone="quiet" className="min-h-9" onClick={() => onChange({})}>
              <X aria-hidden="true" />
              {audit.clear}
            </Button>
          )}
        </div>
      </Form>
    </Panel>
  )
}
