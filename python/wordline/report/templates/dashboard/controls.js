// What the page may change: pause, policies, keys, pace.

async function post(what, body) {
  const answer = await fetch(what, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error);
  return told;
}

const valueText = (value) => (value === null ? "the default" : Array.isArray(value) ? value.join(", ") : String(value));

// Connects the controls; gives what shows them as the drive is.
function controls(about) {
  if (!about.may_change) return () => {};
  const [pause, form, setting, answer] = ["pause", "change", "setting", "answer"].map((id) => document.getElementById(id));
  const say = (words, wrong = false) => {
    answer.textContent = words;
    answer.className = wrong ? "wrong" : "";
  };
  async function tried(doing, ask) {
    say(doing);
    const buttons = [...document.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    try {
      say(await ask());
    } catch (error) {
      say(error.message, true);
    }
    for (const button of buttons) button.disabled = false;
  }
  const set = (text) =>
    tried("draining the drive …", async () => {
      const told = await post("set", { export: "", sets: [text] });
      const keys = told.changed.map(({ key, to }) => `${key} = ${valueText(to)}`);
      return keys.length ? `${keys.join(", ")}: done` : "nothing changed: the drive had that already";
    });
  let stands = false;
  pause.addEventListener("click", () => tried("", async () => ((await post(stands ? "resume" : "pause", {})).paused ? "paused" : "running")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = setting.value.trim();
    if (text) set(about.kind === "run" ? `pace=${text}` : text);
  });
  const [family, policy, swap] = ["family", "policy", "swap"].map((id) => document.getElementById(id));
  let now = {};
  const choices = () => {
    policy.replaceChildren(...(about.families[family.value] ?? []).map((name) => make("option", { value: name }, name)));
    if (now[family.value]) policy.value = now[family.value];
  };
  if (family) {
    family.addEventListener("change", choices);
    swap.addEventListener("click", () => set(`${family.value}.policy=${policy.value}`));
  }
  return (view) => {
    const paused = (view.live ?? view.run).paused;
    if (paused !== stands || !pause.textContent) pause.textContent = paused ? "Resume" : "Pause";
    stands = paused;
    if (!family) return;
    const known = JSON.stringify(now) === JSON.stringify(view.policies);
    now = view.policies;
    if (family.options.length === 0) {
      const names = Object.keys(about.families).filter((name) => name in now && name !== "mapping");
      family.replaceChildren(...names.map((name) => make("option", { value: name }, name)));
      family.value = "victim" in now ? "victim" : names[0];
      choices();
    } else if (!known) choices();
  };
}
