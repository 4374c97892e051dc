import { Ellipsis, KeyRound, List, Plus, Power, Send, Trash2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { ACCOUNT_EVENTS, OPERATOR_EVENTS } from '../../../src/contract/notices.ts'
import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation, useSecretMutation } from '../../queries/mutations.ts'
import { useWebhooks, type Webhook, type WebhookScope } from '../../queries/notices.ts'
import { useMay } from '../../queries/session.ts'
import { Button, IconButton } from '../../ui/Button.tsx'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { ConfirmByName, Form, FormEnd, TextField } from '../../ui/Form.tsx'
import { Checkbox } from '../../ui/inputs.tsx'
import { Badge, Panel } from '../../ui/layout.tsx'
import { Menu, MenuItem } from '../../ui/Menu.tsx'
import { QueryView } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'
import { DeliveriesDialog } from './DeliveriesDialog.tsx'

/** The routes of the two kinds of webhooks are alike. */
const ROUTES = {
  account: {
    add: 'POST /webhooks',
    change: 'PATCH /webhooks/:webhook',
    rotate: 'POST /webhooks/:webhook/rotate',
    remove: 'DELETE /webhooks/:webhook',
    test: 'POST /webhooks/:webhook/test',
  },
  operators: {
    add: 'POST /operate/webhooks',
    change: 'PATCH /operate/webhooks/:webhook',
    rotate: 'POST /operate/webhooks/:webhook/rotate',
    remove: 'DELETE /operate/webhooks/:webhook',
    test: 'POST /operate/webhooks/:webhook/test',
  },
} as const

type EventName = Webhook['events'][number]

/** Of the contract; its types do not allow others here. */
const EVENTS: { readonly account: typeof ACCOUNT_EVENTS; readonly operators: typeof OPERATOR_EVENTS } = {
  account: ['balance.low', 'cap.reached', 'plan.ended', 'plan.renewed', 'key.expiring', 'webhook.off'],
  operators: ['lane.down', 'lane.up', 'reload.refused', 'shortfall.charged', 'verification.failed', 'webhook.off'],
}

type Opened =
  | { readonly what: 'add' }
  | { readonly what: 'rotate' | 'remove' | 'deliveries'; readonly webhook: Webhook }

export function WebhooksPanel({ scope }: { scope: WebhookScope }) {
  const { notices } = useMessages()
  const may = useMay()
  const query = useWebhooks(scope)
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const canChange = scope === 'operators' || may('owner')
  const columns = useColumns((webhook) => (
    <WebhookMenu
      scope={scope}
      webhook={webhook}
      canChange={canChange}
      onPick={(what) => setOpened({ what, webhook })}
    />
  ))
  const add = canChange && (
    <Button onClick={() => setOpened({ what: 'add' })}>
      <Plus aria-hidden="true" />
      {notices.add}
    </Button>
  )
  return (
    <Panel
      title={scope === 'account' ? notices.webhooks : notices.operatorWebhooks}
      about={scope === 'account' ? notices.webhooksAbout : notices.operatorWebhooksAbout}
      actions={add}
      padding="flush"
    >
      <QueryView query={query} lines={2}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="px-4 py-3 text-soft">{notices.noWebhooks}</p>
          ) : (
            <DataTable caption={notices.webhooks} columns={columns} rows={items} rowId={({ id }) => id} />
          )
        }
      </QueryView>
      {opened?.what === 'add' && <AddDialog scope={scope} onClose={close} />}
      {opened?.what === 'rotate' && <RotateDialog scope={scope} webhook={opened.webhook} onClose={close} />}
      {opened?.what === 'remove' && <RemoveDialog scope={scope} webhook={opened.webhook} onClose={close} />}
      {opened?.what === 'deliveries' && (
        <DeliveriesDialog scope={scope} webhook={opened.webhook} canChange={canChange} onClose={close} />
      )}
    </Panel>
  )
}

function useColumns(menu: (webhook: Webhook) => ReactNode): Column<Webhook>[] {
  const { notices, common } = useMessages()
  return [
    {
      id: 'url',
      header: notices.url,
      narrow: 'title',
      cell: ({ url }) => (
        <span title={url} className="block max-w-96 truncate font-medium">
          {url}
        </span>
      ),
    },
    {
      id: 'events',
      header: notices.eventsLabel,
      cell: ({ events }) => events.map((event) => notices.events[event]).join(', '),
    },
    {
      id: 'state',
      header: notices.state,
      cell: ({ state, failing_since: failing }) =>
        state === 'on' && failing !== null ? (
          <Badge tone="held">{notices.failing}</Badge>
        ) : (
          <Badge tone={state === 'on' ? 'good' : state === 'off' ? 'plain' : 'bad'}>{notices.states[state]}</Badge>
        ),
    },
    { id: 'added', header: notices.added, cell: ({ created_at: at }) => <Time at={at} as="day" /> },
    { id: 'menu', header: common.actions, quiet: true, align: 'end', narrow: 'corner', cell: menu },
  ]
}

interface WebhookProps {
  readonly scope: WebhookScope
  readonly webhook: Webhook
}

interface WebhookMenuProps extends WebhookProps {
  readonly canChange: boolean
  readonly onPick: (what: 'rotate' | 'remove' | 'deliveries') => void
}

function WebhookMenu({ scope, webhook, canChange, onPick }: WebhookMenuProps) {
  const { notices } = useMessages()
  const routes = ROUTES[scope]
  const test = useApiMutation(routes.test, { done: notices.tested })
  const change = useApiMutation(routes.change, { done: notices.changed })
  const params = { webhook: webhook.id }
  const isOn = webhook.state === 'on'
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={notices.more(webhook.url)} />}>
      <MenuItem icon={List} onPick={() => onPick('deliveries')}>
        {notices.deliveries}
      </MenuItem>
      {canChange && (
        <>
          <MenuItem icon={Send} onPick={() => test.mutate({ params })}>
            {notices.test}
          </MenuItem>
          <MenuItem icon={Power} onPick={() => change.mutate({ params, body: { enabled: !isOn } })}>
            {isOn ? notices.turnOff : notices.turnOn}
          </MenuItem>
          <MenuItem icon={KeyRound} onPick={() => onPick('rotate')}>
            {notices.rotate}
          </MenuItem>
          <MenuItem icon={Trash2} tone="danger" onPick={() => onPick('remove')}>
            {notices.remove}
          </MenuItem>
        </>
      )}
    </Menu>
  )
}

/** The secret exists only in this state. */
function AddDialog({ scope, onClose }: { scope: WebhookScope; onClose: () => void }) {
  const { notices } = useMessages()
  const [secret, setSecret] = useState<string>()
  const add = useSecretMutation(ROUTES[scope].add, (made) => setSecret(made.secret))
  const [url, setUrl] = useState('')
  const [events, setEvents] = useState<readonly EventName[]>(EVENTS[scope])
  if (secret !== undefined) return <SecretDialog secret={secret} onClose={onClose} />
  const toggle = (event: EventName, isChosen: boolean) =>
    setEvents(isChosen ? [...events, event] : events.filter((each) => each !== event))
  return (
    <Dialog title={notices.add} open onClose={onClose} closing={add.isPending ? 'by-button' : 'anyhow'}>
      <Form onSend={() => add.mutate({ body: { url: url.trim(), events: [...events] } })}>
        <TextField
          label={notices.url}
          hint={notices.urlHint}
          data-autofocus
          required
          type="url"
          maxLength={1000}
          value={url}
          onText={setUrl}
        />
        <fieldset className="grid gap-2">
          <legend className="mb-1 text-sm font-medium">{notices.eventsLabel}</legend>
          {EVENTS[scope].map((event) => (
            <Checkbox
              key={event}
              label={notices.events[event]}
              checked={events.includes(event)}
              onChange={({ currentTarget }) => toggle(event, currentTarget.checked)}
            />
          ))}
        </fieldset>
        <FormEnd mutation={add} go={notices.add} disabled={events.length === 0} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

function RotateDialog({ scope, webhook, onClose }: WebhookProps & { readonly onClose: () => void }) {
  const { notices } = useMessages()
  const [secret, setSecret] = useState<string>()
  const rotate = useSecretMutation(ROUTES[scope].rotate, (made) => setSecret(made.secret))
  if (secret !== undefined) return <SecretDialog secret={secret} onClose={onClose} />
  return (
    <Dialog title={notices.rotateTitle} open onClose={onClose} closing={rotate.isPending ? 'by-button' : 'anyhow'}>
      <Form onSend={() => rotate.mutate({ params: { webhook: webhook.id } })}>
        <p className="text-soft">{notices.rotateText}</p>
        <FormEnd mutation={rotate} go={notices.rotate} onCancel={onClose} />
      </Form>
    </Dialog>
  )
}

/** Shown once, in a dialog that only its button closes. */
function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  const { notices } = useMessages()
  return (
    <Dialog title={notices.secretTitle} open onClose={onClose} closing="by-button">
      <p className="text-soft">{notices.secretText}</p>
      <code className="rounded-lg border border-accent bg-accent-wash px-3 py-2.5 break-all select-all">{secret}</code>
      <DialogActions>
        <CopyButton text={secret} label={notices.copy} look="button" />
        <Button tone="primary" onClick={onClose}>
          {notices.stored}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function RemoveDialog({ scope, webhook, onClose }: WebhookProps & { readonly onClose: () => void }) {
  const { notices } = useMessages()
  const remove = useApiMutation(ROUTES[scope].remove, { done: notices.removed, onDone: onClose })
  return (
    <ConfirmByName
      open
      onClose={onClose}
      title={notices.removeTitle}
      text={notices.removeText}
      name={new URL(webhook.url).host}
      action={notices.remove}
      busy={remove.isPending}
      onConfirm={() => remove.mutate({ params: { webhook: webhook.id } })}
    />
  )
}
