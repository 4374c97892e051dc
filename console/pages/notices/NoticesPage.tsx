import { Bell } from 'lucide-react'
import { useState } from 'react'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { type Notice, useNoticePreferences, useNoticeSettings, useNotices } from '../../queries/notices.ts'
import { itemsOf } from '../../queries/query.ts'
import { useMay, useSession } from '../../queries/session.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable, Paired } from '../../ui/DataTable.tsx'
import { Form, TextField } from '../../ui/Form.tsx'
import { ChoiceField, choicesOf, MoneyInput, Switch } from '../../ui/inputs.tsx'
import { Badge, Empty, Page, PageHeader, Panel } from '../../ui/layout.tsx'
import { ProblemNote, QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'
import { WebhooksPanel } from './WebhooksPanel.tsx'

export function NoticesPage() {
  const { shell, notices } = useMessages()
  const { person } = useSession()
  const may = useMay()
  const query = useNotices()
  const read = useApiMutation('POST /notices/read')
  const columns = useColumns()
  const items = itemsOf(query.data)
  const readAll = items.some((item) => !item.read) && (
    <Button busy={read.isPending} onClick={() => read.mutate({ body: {} })}>
      {notices.readAll}
    </Button>
  )
  return (
    <Page>
      <PageHeader title={shell.pageTitles.notices} about={notices.about} actions={readAll} />
      <Panel padding="flush">
        <QueryView query={query} lines={4}>
          {() =>
            items.length === 0 ? (
              <Empty icon={Bell} title={notices.none} text={notices.noneText} />
            ) : (
              <DataTable caption={shell.pageTitles.notices} columns={columns} rows={items} rowId={({ id }) => id} />
            )
          }
        </QueryView>
        <ShowMore query={query} />
      </Panel>
      {may('viewer') && <LowBalancePanel />}
      <MailPanel />
      {may('admin') && <WebhooksPanel scope="account" />}
      {person.role === 'operator' && <WebhooksPanel scope="operators" />}
    </Page>
  )
}

function useColumns(): Column<Notice>[] {
  const { notices } = useMessages()
  const textOf = useText()
  return [
    {
      id: 'what',
      header: notices.what,
      narrow: 'title',
      cell: (notice) => (
        <Paired
          first={
            <span className="flex items-center gap-2">
              <span className="font-medium">{notices.events[notice.event]}</span>
              {!notice.read && <Badge tone="accent">{notices.unread}</Badge>}
            </span>
          }
          second={<span className="whitespace-normal">{textOf(notice)}</span>}
        />
      ),
    },
    { id: 'at', header: notices.at, cell: ({ at }) => <Time at={at} /> },
  ]
}

/** The sentence of a notice, with its times in the zone of the reader. */
function useText(): (notice: Notice) => string {
  const { notices } = useMessages()
  const formats = useFormats()
  const caps: Readonly<Record<string, string>> = notices.caps
  return ({ event, facts }) =>
    notices.texts[event]((name) => {
      const text = String(facts[name] ?? '')
      if (name === 'cap') return caps[text] ?? `USD (${text})`
      return /^\d{4}-\d\d-\d\dT.*Z$/.test(text) ? formats.time(text) : text
    })
}

function MailPanel() {
  const { notices } = useMessages()
  const { person } = useSession()
  const query = useNoticePreferences()
  const change = useApiMutation('PATCH /notices/preferences', { done: notices.saved })
  return (
    <Panel title={notices.mail} about={notices.mailAbout(person.email)}>
      <QueryView query={query} lines={2}>
        {({ mail, language, mail_configured: isConfigured }) => (
          <div className="grid gap-5 py-1 sm:grid-cols-2">
            <Switch
              label={notices.mailOn}
              {...(!isConfigured && { hint: notices.mailMissing })}
              on={mail}
              onChange={(on) => change.mutate({ body: { mail: on } })}
            />
            <ChoiceField
              label={notices.language}
              value={language}
              options={choicesOf(['en', 'de'], notices.languages)}
              onPick={(picked) => change.mutate({ body: { language: picked } })}
            />
          </div>
        )}
      </QueryView>
    </Panel>
  )
}

function LowBalancePanel() {
  const { notices } = useMessages()
  const query = useNoticeSettings()
  return (
    <Panel title={notices.low} about={notices.lowAbout}>
      <QueryView query={query} lines={2}>
        {({ low_balance: low }) => <LowBalanceForm key={low} low={low ?? ''} />}
      </QueryView>
    </Panel>
  )
}

function LowBalanceForm({ low }: { low: string }) {
  const { notices } = useMessages()
  const may = useMay()
  const [text, setText] = useState(low)
  const change = useApiMutation('PUT /notices/settings', { done: notices.saved, problem: 'shown-here' })
  const isOwner = may('owner')
  return (
    <Form
      className="grid gap-4 py-1 sm:max-w-sm"
      onSend={() => change.mutate({ body: { low_balance: text.trim() === '' ? null : text.trim() } })}
    >
      <TextField
        as={MoneyInput}
        label={notices.lowField}
        hint={notices.lowHint}
        value={text}
        onText={setText}
        maxLength={20}
        readOnly={!isOwner}
      />
      {change.error !== null && <ProblemNote error={change.error} />}
      {isOwner && (
        <div>
          <Button tone="primary" type="submit" busy={change.isPending}>
            {notices.save}
          </Button>
        </div>
      )}
    </Form>
  )
}
