import { useSignal } from '@preact/signals'
import { type LoginAsked, signIn } from '../logic/server.ts'
import { readRoster } from '../logic/state.ts'

/** Asks for a key or token; it stays in this tab and is sent as a header. */
export function LoginForm({ asked }: { readonly asked: LoginAsked }) {
  const credential = useSignal('')
  const chosen = useSignal(0)
  const login = asked.logins[chosen.value] ?? asked.logins[0]
  if (!login) return null
  const submit = (event: Event): void => {
    event.preventDefault()
    if (credential.value.trim() === '') return
    signIn(login, credential.value.trim())
    void readRoster()
  }
  return (
    <form class="login panel pad" onSubmit={submit}>
      <h1>Sign in</h1>
      <p class="soft">{asked.message}</p>
      {asked.logins.length > 1 && (
        <fieldset class="row">
          <legend class="hidden">Kind of credential</legend>
          {asked.logins.map(({ label }, i) => (
            <label key={label}>
              <input
                type="radio"
                name="login"
                checked={chosen.value === i}
                onChange={() => {
                  chosen.value = i
                }}
              />{' '}
              {label}
            </label>
          ))}
        </fieldset>
      )}
      <label class="field">
        <span>{login.label}</span>
        <input
          type="password"
          autocomplete="current-password"
          value={credential.value}
          onInput={({ currentTarget }) => {
            credential.value = currentTarget.value
          }}
        />
      </label>
      <p class="row">
        <button type="submit" class="go">
          Sign in
        </button>
        <span class="faint">Kept in this tab alone, sent as the header {login.header}.</span>
      </p>
    </form>
  )
}
