// Runs before the first paint so that dark mode does not flash white. The same preference is read in
// lib/preferences.ts.
;(() => {
  const root = document.documentElement
  let theme = 'system'
  try {
    theme = JSON.parse(localStorage.getItem('millrace.console') || '{}').theme || theme
  } catch {
    // Without storage the system setting applies.
  }
  const dark = theme === 'dark' || (theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = dark ? 'dark' : 'light'
})()

// Shows the static error message of the page when a file of the app cannot be loaded.
addEventListener(
  'error',
  ({ target }) => {
    const isOfApp = target instanceof HTMLScriptElement || (target instanceof HTMLLinkElement && target.rel !== 'icon')
    if (!isOfApp) return
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', showNotLoaded)
    else showNotLoaded()
  },
  true,
)
addEventListener('DOMContentLoaded', () => {
  document.querySelector('#not-loaded button').addEventListener('click', loadAnew)
})

/** Works only until the app has started. After that, pages report missing files themselves. */
function showNotLoaded() {
  const notLoaded = document.getElementById('not-loaded')
  if (notLoaded) notLoaded.hidden = false
}

/** Reloads only if the server responds, because the browser's own error page has no way back. */
function loadAnew() {
  fetch('/console/', { method: 'HEAD' }).then(
    ({ ok }) => ok && location.reload(),
    () => {},
  )
}
