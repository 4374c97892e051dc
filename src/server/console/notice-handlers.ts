import {
  changeNoticeSettings,
  changePreferences,
  countUnread,
  listOwnNotices,
  readNotices,
  showNoticeSettings,
  showPreferences,
} from '../../admin/notices.ts'
import { done, ifDone } from '../../admin/outcome.ts'
import {
  addWebhook,
  changeWebhook,
  listWebhookDeliveries,
  listWebhooks,
  removeWebhook,
  resendDelivery,
  rotateWebhook,
  testWebhook,
} from '../../admin/webhooks.ts'
import { type AccountRequest, type ConsoleServices, type Handlers, type SignedInRequest, withActor } from './handler.ts'

/** What a person is told, and how. */
export const noticeHandlers = (services: ConsoleServices) =>
  ({
    'GET /notices': (request, { query }) => listOwnNotices(services, request.session, query),
    'GET /notices/unread': (request) => countUnread(services, request.session),
    'POST /notices/read': (request, { body }) => readNotices(services, request.session, body),
    'GET /notices/preferences': (request) => showPreferences(services, request.session),
    'PATCH /notices/preferences': (request, { body }) => changePreferences(services, request.session, body),
    'GET /notices/settings': (request) =>
      ifDone(showNoticeSettings(services, { account: request.account.id }), withoutAccount),
    'PUT /notices/settings': (request, { body }) =>
      ifDone(
        changeNoticeSettings(withActor(request, services), { account: request.account.id, ...body }),
        withoutAccount,
      ),
  }) satisfies Partial<Handlers>

const withoutAccount = ({ low_balance }: { readonly low_balance: string | null }) => done({ low_balance })

const ofAccount = ({ account }: AccountRequest) => ({ account: account.row as number })
/** Those of operators belong to no account. */
const OF_OPERATORS = { account: null }
const emailOf = ({ session }: SignedInRequest): string => session.person.email

/** Webhooks of an account, and of operators. */
export const webhookHandlers = (services: ConsoleServices) =>
  ({
    'GET /webhooks': (request) => listWebhooks(services, request.account.row),
    'POST /webhooks': (request, { body }) =>
      addWebhook(withActor(request, services), request.account.row, body, emailOf(request)),
    'PATCH /webhooks/:webhook': (request, { params, body }) =>
      changeWebhook(withActor(request, services), ofAccount(request), { ...params, ...body }),
    'POST /webhooks/:webhook/rotate': (request, { params }) =>
      rotateWebhook(withActor(request, services), ofAccount(request), params),
    'DELETE /webhooks/:webhook': (request, { params }) =>
      ifDone(removeWebhook(withActor(request, services), ofAccount(request), params), () => done({})),
    'POST /webhooks/:webhook/test': (request, { params }) =>
      testWebhook(withActor(request, services), ofAccount(request), params),
    'GET /webhooks/:webhook/deliveries': (request, { params, query }) =>
      listWebhookDeliveries(services, ofAccount(request), { ...params, ...query }),
    'POST /webhooks/:webhook/deliveries/:delivery/resend': (request, { params }) =>
      resendDelivery(withActor(request, services), ofAccount(request), params),

    'GET /operate/webhooks': () => listWebhooks(services, null),
    'POST /operate/webhooks': (request, { body }) =>
      addWebhook(withActor(request, services), null, body, emailOf(request)),
    'PATCH /operate/webhooks/:webhook': (request, { params, body }) =>
      changeWebhook(withActor(request, services), OF_OPERATORS, { ...params, ...body }),
    'POST /operate/webhooks/:webhook/rotate': (request, { params }) =>
      rotateWebhook(withActor(request, services), OF_OPERATORS, params),
    'DELETE /operate/webhooks/:webhook': (request, { params }) =>
      ifDone(removeWebhook(withActor(request, services), OF_OPERATORS, params), () => done({})),
    'POST /operate/webhooks/:webhook/test': (request, { params }) =>
      testWebhook(withActor(request, services), OF_OPERATORS, params),
    'GET /operate/webhooks/:webhook/deliveries': (_request, { params, query }) =>
      listWebhookDeliveries(services, OF_OPERATORS, { ...params, ...query }),
    'POST /operate/webhooks/:webhook/deliveries/:delivery/resend': (request, { params }) =>
      resendDelivery(withActor(request, services), OF_OPERATORS, params),
  }) satisfies Partial<Handlers>
