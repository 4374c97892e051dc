import { useMessages } from '../../messages/MessagesProvider.tsx'
import { useApiMutation } from '../../queries/mutations.ts'
import { type Delivery, useDeliveries, type Webhook, type WebhookScope } from '../../queries/notices.ts'
import { itemsOf } from '../../queries/query.ts'
import { Button } from '../../ui/Button.tsx'
import { type Column, DataTable } from '../../ui/DataTable.tsx'
import { Dialog, DialogActions } from '../../ui/Dialog.tsx'
import { Badge } from '../../ui/layout.tsx'
import { QueryView, ShowMore } from '../../ui/QueryView.tsx'
import { Time } from '../../ui/values.tsx'

const RESEND = {
  account: 'POST /webhooks/:webhook/deliveries/:delivery/resend',
  operators: 'POST /operate/webhooks/:webhook/deliveries/:delivery/resend',
} as const

interface DeliveriesDialogProps {
  readonly scope: WebhookScope
  readonly webhook: Webhook
  readonly canChange: boolean
  readonly onClose: () => void
}

/** What was sent to a webhook, newest first. */
export function DeliveriesDialog({ scope, webhook, canChange, onClose }: DeliveriesDialogProps) {
  const { notices } = useMessages()
  const query = useDeliveries(scope, webhook.id)
  const resend = useApiMutation(RESEND[scope], { done: notices.resent })
  const columns = useColumns(
    canChange ? (delivery) => resend.mutate({ params: { webhook: webhook.id, delivery: delivery.id } }) : undefined,
  )
  const items = itemsOf(query.data)
  return (
    <Dialog title={notices.deliveries} open onClose={onClose} width="wide">
      <QueryView query={query}>
        {() =>
          items.length === 0 ? (
            <p className="text-soft">{notices.noDeliveries}</p>
          ) : (
            <DataTable caption={notices.deliveries} columns={columns} rows={items} rowId={({ id }) => id} />
          )
        }
      </QueryView>
      <ShowMore query={query} />
      <DialogActions>
        <Button onClick={onClose}>{notices.close}</Button>
      </DialogActions>
    </Dialog>
  )
}

const TONES = { waiting: 'held', sent: 'good', failed: 'bad' } as const

function useColumns(onResend: ((delivery: Delivery) => void) | undefined): Column<Delivery>[] {
  const { notices, common } = useMessages()
  const columns: Column<Delivery>[] = [
    { id: 'event', header: notices.what, narrow: 'title', cell: ({ event }) => notices.events[event] },
    {
      id: 'state',
      header: notices.state,
      cell: ({ state }) => <Badge tone={TONES[state]}>{notices.deliveryStates[state]}</Badge>,
    },
    { id: 'attempts', header: notices.attempts, align: 'end', cell: ({ attempts }) => attempts },
    { id: 'answer', header: notices.answer, cell: ({ status, error }) => error ?? status ?? '' },
    { id: 'at', header: notices.at, cell: ({ created_at: at }) => <Time at={at} /> },
  ]
  if (onResend === undefined) return columns
  return [
    ...columns,
    {
      ...{ id: 'resend', header: common.actions, quiet: true, align: 'end', narrow: 'corner' },
      cell: (delivery) =>
        delivery.state === 'waiting' ? null : (
          <Button tone="quiet" onClick={() => onResend(delivery)}>
            {notices.resend}
          </Button>
        ),
    },
  ]
}
