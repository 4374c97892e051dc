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
    // What a browser takes for the network says nothing of the server: an act would wait unseen, and hold its dialog.
    queries: {
      networkMode: 'always',
      refetchOnReconnect: true,
      staleTime: 5_000,
      retry: (failures, error) => failures < RETRIES && mayPass(asProblem(error)),
      throwOnError: false,
    },
    // What was typed into a form, a password or a code, is not kept once its form is gone.
    mutations: { networkMode: 'always', retry: false, gcTime: 0 },
  },
})

takeSetupCode()
keepTheme()
const router = createConsoleRouter(client)

// Nothing secret is said here: whoever hears it asks the server how they stand.
const otherTabs = new BroadcastChannel('millrace-session')
otherTabs.onmessage = () => void client.invalidateQueries({ queryKey: sessionQuery.queryKey })
// A page that the browser has kept for the way back may be of somebody who has signed out since.
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
})

/** No `await` of the module itself: words come in files that stand on this one, and would wait for it to be done. */
async function start() {
  // Asked beside the words: nothing but these two stands between somebody and their page.
  void client.prefetchQuery(sessionQuery)
  await followLanguage(() => toast({ tone: 'bad', problem: partLost() }))
  // Pages name themselves; the name in the file is for the moment before.
  document.querySelector('title')?.remove()
  document.getElementById('not-loaded')?.remove()
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

/** Problems that the page shows are kept out of the browser's log. */
function reportUnlessShown(error: unknown): void {
  if (!(error instanceof ConsoleProblem)) reportError(error)
}

start().catch((error: unknown) => {
  const notLoaded = document.getElementById('not-loaded')
  if (notLoaded) notLoaded.hidden = false
  throw error
})
