import './styles.css'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { Tooltip } from 'radix-ui'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { setClientHooks } from './lib/api-client.ts'
import { asProblem, ConsoleProblem, mayPass, partLost } from './lib/console-problem.ts'
import { isPageOver, leavePage } from './lib/leave-page.ts'
import { keepTheme } from './lib/preferences.ts'
import { followLanguage } from './messages/loading.ts'
import { MessagesProvider } from './messages/MessagesProvider.tsx'
import { sessionQuery } from './queries/session.ts'
import { createConsoleRouter } from './routes.tsx'
import { cancelPasswordPrompt, requestPassword } from './shell/ConfirmPassword.tsx'
import { signInAddress, takeSetupCode } from './shell/landing.ts'
import { Toasts } from './ui/Toasts.tsx'
import { toast } from './ui/toast.ts'

const RETRIES = 2

const client = new QueryClient({
  defaultOptions: {
    // navigator.onLine says nothing about the server. With the default network mode, a mutation would wait unseen and
    // block its dialog.
    queries: {
      networkMode: 'always',
      refetchOnReconnect: true,
      staleTime: 5_000,
      retry: (failures, error) => failures < RETRIES && mayPass(asProblem(error)),
      throwOnError: false,
    },
    // Mutation variables can hold a password or a code, so they are not cached.
    mutations: { networkMode: 'always', retry: false, gcTime: 0 },
  },
})

takeSetupCode()
keepTheme()
const router = createConsoleRouter(client)

// The message has no content. Each tab asks the server for its session.
const otherTabs = new BroadcastChannel('millrace-session')
otherTabs.onmessage = () => void client.invalidateQueries({ queryKey: sessionQuery.queryKey })
// The back/forward cache may show the page of someone who has signed out since.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) location.reload()
})

setClientHooks({
  confirm: requestPassword,
  isOver: isPageOver,
  sessionChanged: () => otherTabs.postMessage('changed'),
  sessionEnded: () => {
    const { pathname, href } = router.state.location
    if (pathname === '/sign-in' || pathname === '/setup') return
    cancelPasswordPrompt()
    leavePage(signInAddress(href))
  },
  secondFactorNeeded: () => {
    const { pathname, href } = router.state.location
    if (pathname === '/second-step') return
    cancelPasswordPrompt()
    leavePage(signInAddress(href, '/second-step'))
  },
})

/** A top-level await would deadlock: the message files import this module's chunk. */
async function start() {
  // Fetch the session while the messages load, because the first page needs both.
  void client.prefetchQuery(sessionQuery)
  await followLanguage(() => toast({ tone: 'bad', problem: partLost() }))
  // Pages set their own title.
  document.querySelector('title')?.remove()
  document.getElementById('not-loaded')?.remove()
  document.adoptedStyleSheets = []
  createRoot(document.getElementById('root') as HTMLElement, { onCaughtError: reportUnlessShown }).render(
    <StrictMode>
      <MessagesProvider>
        <QueryClientProvider client={client}>
          <Tooltip.Provider delayDuration={400}>
            <RouterProvider router={router} />
            <Toasts />
          </Tooltip.Provider>
        </QueryClientProvider>
      </MessagesProvider>
    </StrictMode>,
  )
}

/** The page already shows these problems, so keep them out of the browser's log. */
function reportUnlessShown(error: unknown): void {
  if (!(error instanceof ConsoleProblem)) reportError(error)
}

start().catch((error: unknown) => {
  const notLoaded = document.getElementById('not-loaded')
  if (notLoaded) notLoaded.hidden = false
  document.getElementById('first-frame')?.remove()
  throw error
})
